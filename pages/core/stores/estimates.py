"""Memory and work of a model or a text, estimated before it runs, against the table of `limits`.

On one's own machine only the free memory is a limit.
"""

import functools
from collections.abc import Sequence

from encoder import edits
from encoder.edits import Edit
from encoder.errors import EncoderError
from encoder.explain.cost import cost
from encoder.model.config import EncoderConfig
from encoder.model.device import free_memory, pick_device
from pages.base.access import visitors
from pages.base.access.limits import MODEL, SOURCE_TEXT, SOURCES, TRACE, WORK, Limit

#: Bytes of a trace that is never refused: to ask the system how much memory is free takes a millisecond.
ALWAYS = 8_000_000


def of_sources(chosen: Sequence[Edit], config: EncoderConfig) -> int:
    """Operations, at most, of the texts that edits take values from. Raises EncoderError for too many of them."""
    texts = edits.sources(chosen)
    n_characters = sum(map(len, texts))
    if len(texts) > SOURCES.value or n_characters > SOURCE_TEXT.value:
        raise EncoderError(
            f"The edits take values from {len(texts):,} texts with {n_characters:,} characters: use at most "
            f"{SOURCES.value} texts with {SOURCE_TEXT.value:,} characters in all."
        )
    return sum(flops(config, min(len(text) + 2, config.max_tokens)) for text in texts)


def n_parameters(config: EncoderConfig) -> int:
    """Weights of an encoder, without its norms and biases."""
    inner = config.n_heads * config.d_head
    layer = 4 * config.d_model * inner + (3 if config.gated else 2) * config.d_model * config.d_ffn
    table = (config.vocab_size + config.max_positions * (config.position == "learned")) * config.embedding_width
    return config.n_distinct_layers * layer + table


def of_model(config: EncoderConfig, n_bytes_each: int) -> None:
    """Raise EncoderError for an untrained encoder that is too large to be built here."""
    megabytes = n_parameters(config) * n_bytes_each // 1_000_000
    most = _most(MODEL)
    if megabytes > most:
        raise EncoderError(
            f"{config.n_layers} layers of width {config.d_model} take {megabytes:,} MB, and here {most:,} MB are the "
            f"limit{_why()}: choose fewer layers or a smaller width."
        )


@functools.lru_cache(1_000)
def flops(config: EncoderConfig, n_tokens: int) -> int:
    """Floating-point operations of one text."""
    return cost(config, n_tokens, 0).flops


def trace_bytes(config: EncoderConfig, n_tokens: int, n_bytes_each: int) -> int:
    """Bytes of a trace at the peak of its forward pass: 7 vectors a layer, and one layer's hidden vectors."""
    inner = config.n_heads * config.d_head
    kept = config.n_layers * (3 * inner + 4 * config.d_model)
    return n_tokens * n_bytes_each * (kept + 3 * config.d_model + (2 if config.gated else 1) * config.d_ffn)


def of_trace(config: EncoderConfig, n_tokens: int, n_bytes_each: int, device: str) -> None:
    """Raise EncoderError for a text that takes too much memory or work in this model."""
    needed = trace_bytes(config, n_tokens, n_bytes_each)
    if pick_device(device).type != "cpu" and not _shared():
        return  # the device says itself when it is full
    if needed > ALWAYS and needed > (most := _most(TRACE)) * 1_000_000:
        raise EncoderError(
            f"{n_tokens:,} tokens take {needed / 1e6:,.0f} MB in this model, and here {most:,} MB are the limit"
            f"{_why()}: use a shorter text or a model with fewer layers."
        )
    work = flops(config, n_tokens) / 1e9
    if _shared() and work > WORK.value:
        raise EncoderError(
            f"{n_tokens:,} tokens take {work:,.0f} billion operations in this model, and here {WORK.value:,} "
            f"are the limit{_why()}: use a shorter text or a smaller model."
        )


def _shared() -> bool:
    return not visitors.for_one_person()


def _most(limit: Limit) -> int:
    """Megabytes: the limit of a shared server; on one's own machine, what is free."""
    free = free_memory(pick_device("cpu")) // 1_000_000
    return min(limit.value, free) if _shared() else free


def _why() -> str:
    return " of this shared server for one visitor" if _shared() else " by the memory that is free"

"""TransformerLens next to the engine, on the same weights, if it is installed."""

import itertools
import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from benchmarks import memory, report, subjects, timing
from benchmarks.report import Figure
from encoder.model.config import EncoderConfig


@torch.no_grad()
def ablation_loop(lens: Any, config: EncoderConfig, ids: torch.Tensor) -> None:
    """One run for each head that is off, by `run_with_hooks`. ids [1, T]."""

    def off(z: torch.Tensor, hook: Any, head: int) -> torch.Tensor:
        z = z.clone()
        z[:, :, head] = 0
        return z

    for layer, head in itertools.product(range(config.n_layers), range(config.n_heads)):
        lens.run_with_hooks(ids, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", partial(off, head=head))])


def against(lengths: tuple[int, ...], seconds: float, clock: str) -> Iterator[Figure]:
    """Memory and time of `run_with_cache` on the same weights, or the size of its cache as measured once."""
    try:
        lens = bridge()
    except ImportError:
        note = "TransformerLens is not installed; its cache was measured once, with 4.3.0: 240 MB at T=512."
        if 512 in lengths:
            found = subjects.minilm().sentence(512)
            peak, _ = memory.tensor_bytes(lambda: subjects.minilm().ours.trace_tokens(found))
            raw = {"ours": report.megabytes(peak), "theirs": "240 MB"}
            yield Figure(
                "engine",
                "peak memory of a trace",
                "TransformerLens' cache",
                peak / 240e6,
                tokens=512,
                target=0.2,
                raw=raw,
                note=note,
            )
        return
    pair = subjects.minilm()
    for n_tokens in lengths:
        found = pair.sentence(n_tokens)
        ids = subjects.ids(found)

        calls = {
            "cached": torch.no_grad()(lambda ids=ids: lens.run_with_cache(ids)),
            "plain": torch.no_grad()(lambda ids=ids: lens(ids)),
        }
        peak, _ = memory.tensor_bytes(lambda found=found: pair.ours.trace_tokens(found))
        held = _storage_bytes(calls["cached"]()[1])
        logits = n_tokens * pair.ours.tokenizer.vocab_size * 4
        for against, theirs, target in (
            ("TransformerLens' cache", held, 0.2 if n_tokens == 512 else None),
            ("TransformerLens' cache without its logits", held - logits, None),
        ):
            raw = {"ours": report.megabytes(peak), "theirs": report.megabytes(theirs)}
            yield Figure(
                "engine", "peak memory of a trace", against, peak / theirs, tokens=n_tokens, target=target, raw=raw
            )
        measured = timing.in_turn(calls, seconds=seconds / 3, clock=clock)
        ratio = timing.ratio(measured["cached"], measured["plain"])
        raw = {name: report.seconds(statistics.median(series)) for name, series in measured.items()}
        yield Figure(
            "engine",
            "TransformerLens: run_with_cache",
            "its own plain forward",
            ratio.value,
            tokens=n_tokens,
            low=ratio.low,
            high=ratio.high,
            raw=raw,
        )


def bridge() -> Any:
    """TransformerLens with MiniLM's weights. Raises ImportError where it is not installed.

    It needs a masked-word head, so that head is random here.
    """
    import logging

    from transformer_lens.model_bridge import TransformerBridge
    from transformers import AutoTokenizer, BertForMaskedLM

    folder = subjects.bundled_folder("minilm")
    model = subjects.reference(BertForMaskedLM, folder, "eager")
    logging.disable(logging.WARNING)
    try:
        return TransformerBridge.boot_transformers(
            "google-bert/bert-base-uncased",
            hf_model=model,
            tokenizer=AutoTokenizer.from_pretrained(folder),
            device="cpu",
        )
    finally:
        logging.disable(logging.NOTSET)


def _storage_bytes(cache: Any) -> int:
    """Bytes of the tensors in a mapping, each storage counted once."""
    storages = {
        value.untyped_storage().data_ptr(): value.untyped_storage().nbytes()
        for value in cache.values()
        if torch.is_tensor(value)
    }
    return sum(storages.values())

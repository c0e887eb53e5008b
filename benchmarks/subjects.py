"""What is measured: MiniLM and a random rotary encoder, each in this engine and in transformers, and texts."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import encoder
from encoder.checkpoints.bundled import bundled_folder
from encoder.inputs.text import Tokenized

#: Ordinary prose, repeated until a text is long enough.
PROSE = (
    "The harbour was quiet in the early morning, and only the gulls seemed to have anything to say. A woman in a grey "
    "coat walked along the pier with a letter in her hand, which she had read so often that its folds had begun to "
    "tear. Nobody had told her that the ferry no longer stopped here on Sundays. When the old clerk opened his window "
    "at last, he shook his head before she could ask, offered her a cup of tea, and said that the next one would leave "
    "on Tuesday, if the weather held. She laughed, because there was nothing else to do, and sat down to wait. "
)

#: The random rotary encoder: layers, heads, width and how many tokens it takes.
LAYERS, HEADS, WIDTH, LONGEST = 6, 12, 384, 8192


@dataclass(frozen=True)
class ModelPair:
    """One model in this engine, and in transformers with fused (SDPA) and with eager attention."""

    name: str
    ours: encoder.TextEncoder
    sdpa: Any
    eager: Any

    def sentence(self, n_tokens: int) -> Tokenized:
        """Prose of exactly `n_tokens` tokens, special ones included."""
        return sentence(self.ours, n_tokens)


def sentence(model: encoder.TextEncoder, n_tokens: int) -> Tokenized:
    """Prose of exactly `n_tokens` tokens, special ones included."""
    text = PROSE * (n_tokens * 8 // len(PROSE) + 1)
    found = model.tokenize(text, max_tokens=n_tokens)
    if len(found) != n_tokens:
        takes = model.config.max_tokens
        raise ValueError(
            f"{model.name} takes {takes} tokens, and the text has {len(found)}: {n_tokens} are not possible."
        )
    return found


def ids(sentence: Tokenized) -> Tensor:
    """[1, T]: the ids, as every model takes them."""
    return torch.tensor([sentence.ids])


@cache
def minilm() -> ModelPair:
    """all-MiniLM-L6-v2 with the same weights on both sides."""
    from transformers import BertModel

    return checked_pair("MiniLM", "minilm", BertModel, bundled_folder("minilm"), add_pooling_layer=False)


@contextlib.contextmanager
def rotary_folder() -> Iterator[Path]:
    """A checkpoint of a random ModernBERT-shaped encoder, saved by transformers: rotary, pre-norm, no windows."""
    from transformers import ModernBertConfig, ModernBertModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = encoder.load("minilm", device="cpu").tokenizer
    config = ModernBertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=LONGEST,
        global_attn_every_n_layers=1,
        pad_token_id=tokenizer.pad_id,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        torch.manual_seed(0)
        ModernBertModel(config).save_pretrained(folder)
        (folder / "tokenizer.json").write_bytes((bundled_folder("minilm") / "tokenizer.json").read_bytes())
        yield folder


@cache
def rotary() -> ModelPair:
    """The random rotary encoder, loaded by this engine and by transformers."""
    from transformers import ModernBertModel

    with rotary_folder() as folder:
        return checked_pair(f"rotary, {LAYERS} layers of width {WIDTH}", str(folder), ModernBertModel, folder)


def trace_random_rotary(n_tokens: int) -> None:
    """Trace a text of `n_tokens` with the random rotary encoder, without transformers."""
    tokenizer = encoder.load("minilm", device="cpu").tokenizer
    config = encoder.EncoderConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=WIDTH,
        n_layers=LAYERS,
        n_heads=HEADS,
        d_ffn=4 * WIDTH,
        max_positions=n_tokens,
        position="rotary",
        norm_placement="pre",
    )
    model = encoder.build(config, tokenizer)
    model.trace_tokens(sentence(model, n_tokens))


def reference(kind: Any, folder: Path, attention: str, **options: Any) -> Any:
    """A model of transformers, without its progress bar and its report on weights."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    return kind.from_pretrained(folder, attn_implementation=attention, **options).eval()


def checked_pair(name: str, source: str, kind: Any, folder: Path, **options: Any) -> ModelPair:
    """One model on both sides. source: for this engine; kind, folder, options: for transformers.

    Raises ValueError if the sides compute different numbers: then speeds cannot be compared.
    """
    sdpa, eager = (reference(kind, folder, attention, **options) for attention in ("sdpa", "eager"))
    pair = ModelPair(name, encoder.load(source, device="cpu"), sdpa, eager)
    short = pair.sentence(16)
    with torch.no_grad():
        ours = pair.ours.encoder(ids(short))
        for other in (pair.sdpa, pair.eager):
            difference = (other(input_ids=ids(short)).last_hidden_state - ours).abs().max().item()
            if difference > 1e-4:
                raise ValueError(
                    f"The sides of {pair.name} differ by {difference:.2g}, so their speeds cannot be compared."
                )
    return pair

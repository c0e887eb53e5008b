"""The faults of published threads, each made again with a small random model by a program without the engine.

The numbers are those of the collected rows: who differs from whom, and why. Rows whose fault is in the files are in
test_folders.py, those of images and sounds (50 to 53) in test_media.py. Rows 4, 22 and 27 have no known cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import encoder
from encoder import diagnose
from encoder.diagnose.pipeline import rounded
from encoder.errors import EncoderError
from tests.diagnose.pipelines import (
    DENSE,
    FAULTS,
    TEXTS,
    Case,
    both_directions,
    either,
    named,
    one_direction,
)
from tests.diagnose.test_folders import change


def in_config(**fields: Any) -> Callable[[Path], None]:
    return lambda folder: change(folder, "config.json", **fields)


#: Wavelengths that are four times as long as without.
SCALED = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}


def lost_with_padding(ids: Tensor, mask: Tensor) -> dict[str, Any]:
    """A batch with padding has the mask of the padding only, one without the causal mask."""
    return {} if bool(mask.all()) else both_directions(ids, mask)


def eight_bits(model: nn.Module) -> None:
    """Every linear map as whole numbers to 127 of its largest, every table as 0 to 255, written with NumPy."""
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if isinstance(module, nn.Linear):
            scale = np.abs(weight.detach().numpy()).max() / 127
            weight.data = torch.from_numpy(np.round(weight.detach().numpy() / scale) * scale)
        elif isinstance(module, nn.Embedding):
            table = weight.detach().numpy()
            low, high = min(0.0, float(table.min())), max(0.0, float(table.max()))
            step = (high - low) / 255
            zero = np.round(-low / step)
            weight.data = torch.from_numpy(((np.round(table / step) + zero).clip(0, 255) - zero) * step).float()


@dataclass(frozen=True)
class Thread:
    """A row. model: of pipelines.KINDS; wrong: fields of Program; expects: right answers; written: of the folder."""

    model: str
    wrong: dict[str, Any]
    expects: tuple[frozenset[str], ...]
    written: dict[str, Any] = field(default_factory=dict)
    folder: Callable[[Path], None] | None = None
    together: int = 1


def like(name: str, model: str) -> Thread:
    """A fault of the generated pipelines with a model of the thread's kind."""
    _, wrong, expects, written = FAULTS[name]
    return Thread(model, wrong, expects, written, together=max(map(len, expects)))


THREADS: dict[str, Thread] = {
    "2 no causal mask, Qwen3": Thread("qwen3", {"more": both_directions}, named("bidirectional")),
    "3 causal where trained in both directions": Thread(
        "qwen2", {"config": (("is_causal", True),)}, named("causal"), folder=in_config(is_causal=False)
    ),
    "5 EOS missing after an update": like("decoder-eos-missing", "llama"),
    "6 EOS not appended": like("decoder-eos-missing", "qwen3"),
    "7 no EOS, mean for last": like("eos-and-mean", "qwen2"),
    "8 truncation cuts EOS off": like("truncation-special", "qwen3"),
    "9 left padding, last at sum(mask) - 1": like("last-token-count", "qwen3"),
    "10 vector of a padding token": like("last-token-column", "qwen2"),
    "11 padding to 128 in attention and mean": like("fixed-padding", "bert"),
    "12 mask ignored in attention": like("attended-padding", "bert"),
    "13 mask ignored in the mean": like("pooled-padding", "bert"),
    "14 mask not passed": like("attended-padding", "electra"),
    "15 8-bit weights": Thread("bert", {"change": eight_bits}, named("precision")),
    "15 pooling and normalising left out": like("cls-and-not-normalised", "bert"),
    "16 both Dense layers skipped": like("dense-missing", "modernbert"),
    "17 Dense layers not converted": like("dense-missing", "llama"),
    "20 not normalised": like("normalise-missing", "qwen3"),
    "21 the older endpoint does not normalise": like("normalise-missing", "bert"),
    "23 mean for CLS": like("pooling-mean", "bert-cls"),
    "24 mean for the last token": like("pooling-mean", "qwen3"),
    "25 trimmed, mean, not normalised": Thread(
        "qwen2", {"row": lambda row: row[:-1], "pooling": "mean", "normalise": False},
        either("pooling+normalise-missing", "pooling+normalise-missing+eos-missing"), together=3,
    ),
    "26 a chat template": Thread(
        "qwen3", {"template": "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"}, named("template")
    ),
    "28 query: missing": like("prompt-missing", "xlm-roberta"),
    "29 the other prompt": like("prompt-other", "bert"),
    "29 the prompt twice": like("prompt-doubled", "bert"),
    "30 accents": like("accents", "bert"),
    "31 accents": like("accents", "distilbert"),
    "32 capitals": like("lower-case", "bert-cls"),
    "34 no word markers": like("word-markers", "roberta"),
    "35 positions begin at 0": like("position-offset", "xlm-roberta"),
    "36 positions begin at 0": like("position-offset", "roberta"),
    "37 no rotary scaling": Thread(
        "llama", {"config": (("rope_parameters", {"rope_type": "default", "rope_theta": 10_000.0}),)},
        named("rotary-scaling"), folder=in_config(rope_parameters=SCALED),
    ),
    "38 another limit": like("truncation", "bert"),
    "39 a limit of its own": like("truncation-odd", "xlm-roberta"),
    "40 a step at one length": Thread("qwen3", {"max_length": 40, "cuts_special": True}, named("truncation")),
    "41 bfloat16": Thread("bert", {"dtype": "bfloat16"}, named("precision")),
    "42 float16": Thread("xlm-roberta", {"dtype": "float16"}, named("precision")),
    "47 cut after normalising": like("matryoshka-order", "bert"),
    "49 causal by another version": Thread("bert", {"more": one_direction}, named("causal")),
    "54 no padding mask, ModernBERT": like("attended-padding", "modernbert"),
    "54 no windows": Thread("modernbert", {"config": (("local_attention", 2 * 512),)}, named("window")),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of transformers, about masks
@pytest.mark.sample(7, "another thread")
@pytest.mark.parametrize("name", THREADS)
def test_the_fault_of_a_thread_is_named(name: str, tmp_path: Path):
    thread = THREADS[name]
    case = Case(thread.model, name, thread.wrong, thread.expects, thread.written, seed=3)
    program = case.make(tmp_path)
    if thread.folder is not None:
        thread.folder(tmp_path)
    found = diagnose.find(program.folder, TEXTS, program.embed(), together=thread.together)
    assert frozenset(one.name for one in found.faults) in thread.expects, found.said


def test_18_the_width_gives_a_missing_dense_layer_away(tmp_path: Path):
    from safetensors.torch import save_file

    program = Case("bert", "dense", {"dense": ()}, (), DENSE, seed=3).make(tmp_path)
    generator = torch.Generator().manual_seed(0)
    weights = {"linear.weight": torch.randn(20, 48, generator=generator), "linear.bias": torch.zeros(20)}
    save_file(weights, tmp_path / "3_Dense" / "model.safetensors")
    about = json.loads((tmp_path / "3_Dense" / "config.json").read_text())
    (tmp_path / "3_Dense" / "config.json").write_text(json.dumps({**about, "out_features": 20}))
    found = diagnose.find(program.folder, TEXTS, program.embed(), together=1)
    assert [one.name for one in found.faults] == ["dense-missing"]
    assert found.difference_without == float("inf")


def test_19_vectors_of_tokens_are_named_before_any_search():
    with pytest.raises(EncoderError, match="does not pool"):
        diagnose.read_vectors(json.dumps({"data": [[[0.0, 1.0], [2.0, 3.0]]]}).encode(), "answer.json")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("batched", [False, True], ids=["44 another kernel", "45 a list"])
def test_rounding_is_sound(batched: bool, tmp_path: Path):
    program = Case("bert", "sound", {"batched": batched}, ()).make(tmp_path)
    vectors = program.embed()
    assert diagnose.find(program.folder, TEXTS, vectors).verdict == "sound"


@pytest.mark.filterwarnings("ignore")
def test_48_a_padding_mask_for_the_causal_one_is_not_excluded_and_a_text_separates_it(tmp_path: Path):
    """Texts of one batch with padding all lose the causal mask: nothing tells it from a program without any."""
    wrong = {"batched": True, "side": "left", "more": lost_with_padding}
    program = Case("qwen2", "batch", wrong, (), seed=3).make(tmp_path)
    found = diagnose.find(program.folder, TEXTS, program.embed(), together=1)
    assert found.faults[0].name == "bidirectional"
    assert "causal-lost-with-padding" in {one.name for faults in found.alternatives for one in faults}
    assert found.next_texts


def test_46_a_program_that_does_not_repeat_itself(tmp_path: Path):
    program = Case("bert", "sound", {}, ()).make(tmp_path)
    texts = tuple(text for text in TEXTS[:4] for _ in range(3))
    vectors = program.embed(texts)
    vectors[1::3] += np.random.default_rng(0).normal(0, 0.05, vectors[1::3].shape).astype(np.float32)
    found = diagnose.find(program.folder, texts, vectors, together=1)
    assert (found.verdict, found.faults) == ("not-repeatable", ())


def test_every_row_with_a_cause_has_its_model():
    from tests.diagnose import test_folders

    numbers = {int(name.split()[0]) for name in (*THREADS, *test_folders.ROWS)}
    assert {*range(1, 55)} - numbers <= {4, 22, 27, 18, 19, 44, 45, 46, 48, *range(50, 54)}


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8"])
def test_stored_numbers_are_named_whichever_neighbour_a_program_rounds_to(kind: str) -> None:
    """The last digits of float32, which no two processors share, decide where a number is in the middle of two."""
    model = encoder.load("minilm", device="cpu")
    texts = list(diagnose.probes(model))[:6]
    vectors = model.embed(texts)
    noise = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0)) * 1e-6 * vectors.abs().max()
    stored = rounded(vectors + noise, kind)
    assert not torch.equal(stored, rounded(vectors, kind))
    found = diagnose.find(model, texts, stored.numpy(), together=1)
    assert [(fault.name, *fault.parameters.values()) for fault in found.faults] == [("precision", kind, "vectors")]

"""Every kind of edit against transformers with forward hooks: tiny random models, and all-MiniLM-L6-v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import encoder
from encoder.checkpoints.bundled import bundled_folder
from encoder.edits import (
    AblateHead,
    Add,
    Call,
    CausalMask,
    DropPositions,
    Edit,
    MaskKeys,
    Mean,
    Noise,
    PermutePositions,
    Replace,
    Scale,
    SetScore,
    SetValue,
    SetWeight,
    Temperature,
    UniformAttention,
    Zero,
)
from tests.load import edited_reference
from tests.load.edited_reference import PLACES
from tests.load.reference import inputs_of, sentence

FAMILIES = ("bert", "roberta", "distilbert", "modernbert", "vit")
HERE, OTHER = sentence(9, seed=5), sentence(9, seed=6)
MASKED = -1e30


class Subject:
    """One model twice, with its input and another of the same length."""

    def __init__(self, family: str, ours: Any, theirs: Any, here: str = HERE, other: str = OTHER) -> None:
        self.family, self.ours, self.theirs = family, ours, theirs
        self.n_heads = ours.config.n_heads
        if family == "vit":
            generator = torch.Generator().manual_seed(3)
            self.pixels = [torch.randn(3, 24, 24, generator=generator) for _ in range(2)]
            self.inputs = [{"pixel_values": pixels[None]} for pixels in self.pixels]
            self.source: Any = ours.trace_image(self.pixels[1], request=("z", "attention_out", "ffn_out"))
        else:
            self.inputs = [inputs_of(ours, [(text, None)], family) for text in (here, other)]
            self.here, self.source = here, other

    def ours_edited(self, *edits: Edit) -> Tensor:
        trace = self.ours.trace_image if self.family == "vit" else self.ours.trace
        output: Tensor = trace(self.pixels[0] if self.family == "vit" else self.here, edits=edits).output
        return output

    def theirs_edited(self, changes: dict[tuple[str, int], Any], **more: Tensor) -> Tensor:
        inputs = {**self.inputs[0], **more}
        return edited_reference.run(self.theirs, self.family, self.n_heads, inputs, changes)

    def others(self, *places: tuple[str, int]) -> dict[tuple[str, int], Tensor]:
        return edited_reference.values(self.theirs, self.family, self.n_heads, self.inputs[1], list(places))


def put(index: Any, change: Callable[[Tensor], Any]) -> Callable[[Tensor], Tensor]:
    """value -> a copy, where value[index] is `change` of it."""

    def edit(value: Tensor) -> Tensor:
        value = value.clone()
        value[index] = change(value[index])
        return value

    return edit


def renormalised(weights: Tensor, head: int, query: int, key: int, weight: float) -> Tensor:
    row = weights[head, query]
    rest = torch.cat((row[:key], row[key + 1 :]))
    rest = rest / rest.sum() * (1 - weight)
    weights = weights.clone()
    weights[head, query] = torch.cat((rest[:key], torch.tensor([weight]), rest[key:]))
    return weights


def where_seen(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda scores: torch.where(scores > MASKED, change(scores), scores)


def cases(subject: Subject) -> dict[str, tuple[tuple[Edit, ...], dict[tuple[str, int], Any]]]:
    """Name -> (our edits, the same as changes of the reference), for the points that the family has modules for."""
    source, n = subject.source, subject.inputs[0][next(iter(subject.inputs[0]))].shape[-1]
    layers = range(subject.ours.config.n_layers)
    n_tokens = 37 if subject.family == "vit" else n
    width = subject.ours.config.d_model
    vector = torch.linspace(-1, 1, width)
    noise = torch.randn(n_tokens, width, generator=torch.Generator().manual_seed(7 * 10_000 + 2))
    later = torch.ones(n_tokens, n_tokens).triu(1).bool()
    others = subject.others(
        ("after_ffn", 0),
        ("z", 1),
        ("ffn_out", 2),
        *((name, layer) for layer in layers for name in ("pattern", "v"))
        if "v" in PLACES[subject.family]
        else (("pattern", layer) for layer in layers),
    )
    first_heads = (slice(None), slice(2, 5))
    found: dict[str, tuple[tuple[Edit, ...], dict[tuple[str, int], Any]]] = {
        "nothing": ((), {}),
        "ablate": ((AblateHead(1, 3),), {("z", 1): put(3, torch.zeros_like)}),
        "zero two heads at two tokens": (
            (Zero("z", layer=2, heads=(0, 4), positions=(1, 3)),),
            {("z", 2): lambda z: put((4, [1, 3]), lambda _: 0.0)(put((0, [1, 3]), lambda _: 0.0)(z))},
        ),
        "scale some of v": (
            (Scale("v", -0.5, layer=0, components=(1, 2)),),
            {("v", 0): put((..., slice(1, 3)), lambda part: part * -0.5)},
        ),
        "set q": ((SetValue("q", 0.7, layer=1, heads=(2,)),), {("q", 1): put(2, lambda _: 0.7)}),
        "add to k": (
            (Add("k", (0.5,), layer=1, positions=(2, 3, 4), components=(6,)),),
            {("k", 1): put((*first_heads, 6), lambda part: part + 0.5)},
        ),
        "set neurons": (
            (SetValue("ffn.hidden", 1.5, layer=1, components=(11, 30)),),
            {("ffn.hidden", 1): put((..., [11, 30]), lambda _: 1.5)},
        ),
        "add to the stream": (
            (Add("after_ffn", tuple(vector.tolist()), layer=0, positions=(2,)),),
            {("after_ffn", 0): put(2, lambda row: row + vector)},
        ),
        "after attention": (
            (Scale("after_attention", 2.0, layer=1, positions=(0,)),),
            {("after_attention", 1): put(0, lambda row: row * 2)},
        ),
        "no attention": ((Zero("attention_out", layer=1),), {("attention_out", 1): torch.zeros_like}),
        "no ffn": ((Zero("ffn_out", layer=0),), {("ffn_out", 0): torch.zeros_like}),
        "noise": ((Noise("attention_out", 0.3, seed=7, layer=1),), {("attention_out", 1): lambda x: x + 0.3 * noise}),
        "noise on the embedding": (
            (Scale("embedding", 0.5, positions=(1,)),),
            {("embedding", -1): put(1, lambda row: row / 2)},
        ),
        "a function": ((Call("ffn_out", torch.tanh, layer=2),), {("ffn_out", 2): torch.tanh}),
        "replace the stream": (
            (Replace("after_ffn", source, layer=0, positions=(3, 4)),),
            {("after_ffn", 0): put([3, 4], lambda _: others["after_ffn", 0][[3, 4]])},
        ),
        "replace heads": (
            (Replace("z", source, layer=1, heads=(1, 2)),),
            {("z", 1): put([1, 2], lambda _: others["z", 1][[1, 2]])},
        ),
        "mean": (
            (Mean("ffn_out", (source,), layer=2),),
            {("ffn_out", 2): lambda x: others["ffn_out", 2].mean(0).expand_as(x)},
        ),
        "others' attention": (
            (Replace("pattern", source),),
            {("pattern", layer): lambda _, layer=layer: others["pattern", layer] for layer in layers},
        ),
        "others' values": (
            (Replace("v", source),),
            {("v", layer): lambda _, layer=layer: others["v", layer] for layer in layers},
        ),
        "mask": ((MaskKeys((2, 3), layer=1),), {("scores", 1): put((..., [2, 3]), lambda _: -3e38)}),
        "mask for a query": (
            (MaskKeys((2,), query=4, head=1),),
            {("scores", layer): put((1, 4, 2), lambda _: -3e38) for layer in layers},
        ),
        "score": ((SetScore(1, 3, 2, 4, 9.0),), {("scores", 1): put((3, 2, 4), lambda _: 9.0)}),
        "weight": ((SetWeight(2, 1, 3, 5, 0.75),), {("pattern", 2): lambda w: renormalised(w, 1, 3, 5, 0.75)}),
        "weight of zero": ((SetWeight(0, 1, 3, 2, 0.0),), {("pattern", 0): lambda w: renormalised(w, 1, 3, 2, 0.0)}),
        "scale weights": (
            (Scale("pattern", 0.5, layer=1, heads=(0,), positions=(2,)),),
            {("pattern", 1): put((0, 2), lambda row: row / 2)},
        ),
        "temperature": ((Temperature(2.0, layer=1),), {("scores", 1): where_seen(lambda scores: scores / 2)}),
        "sharper": (
            (Temperature(0.25, head=2),),
            {
                ("scores", layer): lambda scores: put(2, lambda _: where_seen(lambda s: s * 4)(scores[2]))(scores)
                for layer in layers
            },
        ),
        "uniform": ((UniformAttention(layer=2),), {("scores", 2): where_seen(torch.zeros_like)}),
        "causal": (
            (CausalMask(),),
            {("scores", layer): lambda scores: scores.masked_fill(later, -3e38) for layer in layers},
        ),
    }
    known = {*PLACES[subject.family], "scores", "pattern", "embedding"}
    return {name: case for name, case in found.items() if all(point in known for point, _ in case[1])}


def close(ours: Tensor, theirs: Tensor, what: str) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5, msg=lambda text: f"{what}: {text}")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_edit_is_what_hooks_do(family: str, checkpoint: Callable):
    pair = checkpoint(family)
    subject = Subject(family, pair.ours, pair.theirs)
    tried = cases(subject)
    assert len(tried) > 20
    plain = subject.ours_edited()
    for name, (edits, changes) in tried.items():
        found = subject.ours_edited(*edits)
        close(found, subject.theirs_edited(changes), name)
        least = 0.0 if name == "weight of zero" else 1e-3
        assert not edits or float((found - plain).abs().max()) > least, f"{name} changes nothing"


def test_every_edit_of_minilm():
    import transformers

    folder = bundled_folder("minilm")
    theirs = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ours = encoder.load("minilm", device="cpu")
    here, other = "The nurse said that he was late.", "The nurse said that she was late."
    subject = Subject("bert", ours, theirs, here, other)
    for name, (edits, changes) in cases(subject).items():
        close(subject.ours_edited(*edits), subject.theirs_edited(changes), name)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "modernbert"])
def test_positions(family: str, checkpoint: Callable):
    pair = checkpoint(family)
    subject = Subject(family, pair.ours, pair.theirs)
    order = (3, 1, 0, 2, 10, 9, 8, 4, 5, 6, 7)
    if family == "distilbert":  # it takes no position_ids
        table = pair.theirs.embeddings.position_embeddings
        theirs = []
        for change in (lambda rows: rows[:, list(order)], torch.zeros_like):
            handle = table.register_forward_hook(lambda _, __, rows, change=change: change(rows))
            theirs.append(subject.theirs_edited({}))
            handle.remove()
    else:
        offset = 2 if family == "roberta" else 0
        theirs = [subject.theirs_edited({}, position_ids=torch.tensor([order]) + offset)]
        if family == "modernbert":
            theirs.append(subject.theirs_edited({}, position_ids=torch.full((1, 11), 5)))
        else:
            table = pair.theirs.embeddings.position_embeddings
            handle = table.register_forward_hook(lambda _, __, rows: torch.zeros_like(rows))
            theirs.append(subject.theirs_edited({}))
            handle.remove()
    close(subject.ours_edited(PermutePositions(order)), theirs[0], "permuted")
    close(subject.ours_edited(DropPositions()), theirs[1], "left out")


def test_an_image_model_runs_no_text(checkpoint: Callable):
    pair = checkpoint("vit")
    with pytest.raises(encoder.EncoderError, match="accepts no text"):
        pair.ours.trace_image(torch.zeros(3, 24, 24), edits=[Replace("z", "a text")])

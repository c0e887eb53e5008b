"""Attention and the pictures of its maps in one pass: the same numbers as the fused kernel and a walk afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from encoder import TextEncoder
from encoder.edits import AblateHead, UniformAttention
from encoder.maps.long_map import layer_overview
from encoder.model import attend, overview
from encoder.model.overview import Overview, block_max
from encoder.model.pauses import pausing
from tests.engine.conftest import VARIANTS, WORDS, tiny

TEXT = " ".join(word for word in WORDS if word.isalpha())
CLOSE = {"atol": 1e-6, "rtol": 1e-5}
#: Of the output, to which every layer adds its own rounding.
OUTPUT = {"atol": 1e-5, "rtol": 1e-4}


@pytest.fixture(autouse=True)
def short_texts_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "LONG", 4)
    monkeypatch.setattr(overview, "SIZE", 7)
    monkeypatch.setattr(overview, "ROWS", 5)
    monkeypatch.setattr(overview, "NUMBERS", 1)


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def overviews(model: TextEncoder, **options: object) -> tuple[torch.Tensor, dict[int, Overview]]:
    """The output of a run of TEXT, and the overviews by layer."""
    found: dict[int, Overview] = {}
    trace = model.trace_tokens(model.tokenize(TEXT), on_overview=found.__setitem__, **options)
    return trace.output, found


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("position", ["rotary", "learned"])
def test_one_pass_gives_the_numbers_of_two(placement: str, position: str, threads: int) -> None:
    model = tiny(norm_placement=placement, position=position)
    plain = model.trace(TEXT)
    output, found = overviews(model)
    assert torch.get_num_threads() == threads
    torch.testing.assert_close(output, plain.output, **OUTPUT)
    assert list(found) == list(range(model.config.n_layers))
    for layer, seen in found.items():
        expected = layer_overview(plain, layer, 7)
        assert seen.block == expected.block > 1
        torch.testing.assert_close(seen.pooled, expected.pooled, **CLOSE)
        torch.testing.assert_close(seen.received, expected.received, **CLOSE)


@pytest.mark.parametrize("numbers", [1, 200, 2**19])
@pytest.mark.parametrize("size", [3, 9, 256])
def test_rows_at_a_time_change_no_number(numbers: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "SIZE", size)
    monkeypatch.setattr(overview, "NUMBERS", numbers)
    model = tiny()
    expected = layer_overview(model.trace(TEXT), 1, size)
    seen = overviews(model)[1][1]
    torch.testing.assert_close(seen.pooled, expected.pooled, **CLOSE)
    torch.testing.assert_close(seen.received, expected.received, **CLOSE)


@pytest.mark.parametrize(
    ("changes", "options", "layers"),
    [
        (VARIANTS["no positions, causal"], {}, []),
        (VARIANTS["relative bias"], {}, []),
        (VARIANTS["rotary, windows"], {}, [0]),
        (VARIANTS["factorised, shared layers"], {}, [0, 1, 2]),
        (VARIANTS["scale of its own"], {}, [0, 1, 2]),
        ({}, {"pad_to": 30}, []),
        ({}, {"edits": (AblateHead(1, 0),)}, [0, 1, 2]),
        ({}, {"edits": (UniformAttention(1, 0),)}, [0, 2]),
        ({}, {"request": ("pattern",)}, []),
    ],
)
def test_attention_that_does_not_fit_is_computed_as_before(
    changes: dict[str, object], options: dict[str, object], layers: list[int]
) -> None:
    model = tiny(**changes)
    expected = model.trace_tokens(model.tokenize(TEXT), **options).output
    output, found = overviews(model, **options)
    assert list(found) == layers
    torch.testing.assert_close(output, expected, **OUTPUT)


@pytest.mark.parametrize("longest", [1.0, 60.0, 99.0, 150.0, 1e4])
def test_small_scores_and_large_ones_give_the_softmax_of_float64(longest: float) -> None:
    """longest: the largest score of two vectors in the same direction, as a power of 2."""
    q, k, v = torch.randn(3, 2, 20, 4, generator=torch.Generator().manual_seed(0))
    q, k = (x / x.norm(dim=-1).amax() for x in (q, k))
    scale = longest / attend.LOG2_E
    assert attend.fits_base_2(q, k, scale) == (longest < attend.BASE_2_MOST)
    z, seen = overview.in_one_pass(q, k, v, scale)
    weights = ((q.double() * scale) @ k.double().transpose(-1, -2)).softmax(-1)
    close = {"atol": 2e-7 * max(1.0, longest), "rtol": 0.0}  # the product's own rounding grows with the scores
    torch.testing.assert_close(z.double(), weights @ v.double(), **close)
    torch.testing.assert_close(seen.received.double(), weights.mean(1), **close)
    torch.testing.assert_close(seen.pooled.double(), block_max(weights, seen.block), **close)


def test_scores_that_are_no_numbers_stay_so() -> None:
    q, k, v = torch.ones(3, 1, 9, 4)
    q[0, 3] = torch.nan
    assert not attend.fits_base_2(q, k, 0.5)
    assert overview.in_one_pass(q, k, v, 0.5)[0][0, 3].isnan().all()


def test_a_short_text_gives_none_and_neither_do_gradients_nor_other_number_types() -> None:
    q = torch.zeros(1, 2, 5, 3)
    with torch.no_grad():
        assert overview.fits(q)
        assert not overview.fits(q[..., :4, :]), "a short text"
        assert not overview.fits(q.expand(2, -1, -1, -1)), "two texts"
        assert not overview.fits(q.bfloat16())
    assert not overview.fits(q), "with gradients"


def test_it_pauses_between_heads_and_what_a_pause_raises_ends_it(threads: int) -> None:
    class LeaveError(Exception):
        pass

    model, paused = tiny(), []

    def pause() -> None:
        paused.append(1)
        if len(paused) == 2:
            raise LeaveError

    with pausing(pause), pytest.raises(LeaveError):
        overviews(model)
    assert len(paused) == 2
    assert torch.get_num_threads() == threads


def test_inference_mode_is_the_threads_too(threads: int) -> None:
    model = tiny()
    expected = model.trace(TEXT).output
    with torch.inference_mode():
        output, found = overviews(model)
    torch.testing.assert_close(output, expected, **OUTPUT)
    assert len(found) == model.config.n_layers


def test_a_run_inside_the_receiver_gives_it_nothing() -> None:
    """Its layers are those of another text."""
    model, layers = tiny(), []

    def receive(layer: int, _: Overview) -> None:
        layers.append(layer)
        model.trace(TEXT)

    model.trace_tokens(model.tokenize(TEXT), on_overview=receive)
    assert layers == [0, 1, 2]

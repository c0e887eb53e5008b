"""Long texts in bounded memory, measured in a process of its own, and texts longer than the model takes."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest
import torch

from encoder import TextEncoder, TextError
from encoder.run import ModelSpec, Run, Text, code
from tests.conftest import ROOT
from tests.engine.conftest import tiny

pytestmark = pytest.mark.sample(3, "another architecture")

#: For every architecture MB of growth of a forked process, from importing the libraries on, while it does what it says.
PROGRAM = """
import ast, json, os, resource, sys
import torch
import encoder
from encoder import EncoderConfig
from encoder.measure.head_measures import head_measures
from tests.engine.conftest import tiny_tokenizer

def peak():  # of this process, in MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

def grown(n_tokens, fields):
    config = EncoderConfig(
        vocab_size=30, d_model=48, n_layers=2, n_heads=3, d_ffn=96, max_positions=n_tokens, **fields
    )
    model = encoder.build(config, tiny_tokenizer(), seed=0)
    model.trace("the cat sat").thumbnails(8)  # the libraries' own memory is there before counting starts
    start = peak()
    trace = model.trace("cat " * (n_tokens - 2))
    assert trace.n_tokens == n_tokens
    grown = {"trace": peak() - start}
    assert trace.thumbnails(64).shape[-1] <= 64
    assert trace.pooled_attention(1, 2, 256).shape == (256, 256)
    assert trace.attention(1, 2, slice(100, 200), slice(0, 50)).shape == (100, 50)
    grown["maps"] = peak() - start
    head_measures(trace)
    grown["measures"] = peak() - start
    return grown

n_tokens, architectures = ast.literal_eval(sys.argv[1])
for name, fields in architectures.items():
    if not os.fork():
        print(json.dumps({name: grown(n_tokens, fields)}), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""

ARCHITECTURES = {
    "rotary": {"position": "rotary"},
    "windows": {"position": "rotary", "attention_window": (None, 64)},
    "causal": {"position": "none", "causal": True},
    "relative bias": {"position": "none", "relative_buckets": 32},
}


@pytest.mark.slow("traces 4,096 tokens of every architecture")
def test_a_long_text_takes_memory_for_its_tokens_not_for_their_pairs():
    """At T = 4,096 one map of all pairs is 64 MiB, the maps of all 6 heads 384 MiB; what is captured is 10 MiB."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, repr((4096, ARCHITECTURES))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    found = {name: grown for line in answer.stdout.splitlines() for name, grown in json.loads(line).items()}
    assert list(found) == list(ARCHITECTURES)
    # A bias by distance is made for 256 queries at a time, with its indices: 70 to 380 MB, as the allocator has it;
    # made for all at once it takes 800.
    for name, grown in found.items():
        assert grown["trace"] < (550 if name == "relative bias" else 110), (name, grown)
        assert grown["measures"] < (550 if name == "relative bias" else 150), (name, grown)


WORDS = ("the cat sat on a mat and the dog ran to the big red bus ! " * 6).split()


@pytest.mark.parametrize(("max_tokens", "stride"), [(61, None), (20, 18), (20, 9), (20, 1), (3, 1), (500, 7)])
@pytest.mark.parametrize("n_words", [0, 1, 17, 18, 19, 90])
def test_windows_cover_the_whole_text(max_tokens: int, stride: int | None, n_words: int):
    model = tiny()
    words = WORDS[:n_words]
    text = " ".join(words)
    windows = list(model.trace_windows(text, max_tokens=max_tokens, stride=stride))
    covered: set[int] = set()
    for window in windows:
        first, stop = window.tokens
        assert window.trace.n_tokens == stop - first + 2 <= max_tokens
        assert window.trace.tokens == ("[CLS]", *words[first:stop], "[SEP]")
        assert text[slice(*window.characters)] == " ".join(words[first:stop])
        assert window.trace.source.words == (-1, *range(stop - first), -1)
        assert window.trace.source.n_full == n_words + 2
        covered |= set(range(first, stop))
    assert covered == set(range(n_words))
    starts = [window.tokens[0] for window in windows]
    assert starts == sorted(set(starts))
    if stride is not None and len(starts) > 1:
        assert starts == list(range(0, starts[-1] + 1, stride))
    assert windows[-1].tokens[1] == n_words
    assert all(window.tokens[1] < n_words for window in windows[:-1])  # none is there for nothing


def test_a_window_is_the_trace_of_its_words():
    model = tiny()
    window = list(model.trace_windows(" ".join(WORDS), max_tokens=20, stride=9))[2]
    alone = model.trace(" ".join(WORDS[18:36]))
    assert torch.equal(window.trace.output, alone.output)


def test_windows_of_a_real_text(minilm: TextEncoder, prose: str):
    text = " ".join([prose] * 20)
    windows = list(minilm.trace_windows(text))
    assert all(window.trace.n_tokens <= 512 for window in windows)
    assert windows[0].tokens == (0, 510)
    assert windows[1].tokens[0] == 255
    assert windows[-1].characters[1] == len(text)
    for before, after in itertools.pairwise(windows):
        assert after.characters[0] < before.characters[1]  # they overlap
    assert next(minilm.trace_windows(prose)).trace.tokens == minilm.trace(prose).tokens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stride": 0}, r"stride=0\b.* 1 to 59"),
        ({"stride": 60}, r"stride=60\b.* 1 to 59"),
        ({"max_tokens": 2}, r"max_tokens=2\b.* 2 special tokens.* 3 or more"),
    ],
)
def test_windows_that_cannot_be(options: dict[str, int], message: str):
    with pytest.raises(TextError, match=message):
        tiny().windows("the cat", **options)


def test_python_lines_make_the_selected_window(minilm: TextEncoder):
    text = "the cat sat " * 400
    names: dict[str, object] = {}
    exec(code.python_lines(Run(ModelSpec(), Text(text, window=2)), "shown = trace.tokens"), names)
    assert names["shown"] == minilm.windows(text)[2].sentence.tokens


QUESTION = "the cat sat on a mat"


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("max_tokens", "stride"), [(61, None), (25, None), (25, 16), (25, 1), (14, 3)])
def test_of_a_pair_the_longer_slides_and_the_other_stays(max_tokens: int, stride: int | None, swapped: bool):
    model = tiny(n_segments=2)
    text, pair = (" ".join(WORDS), QUESTION) if swapped else (QUESTION, " ".join(WORDS))
    windows = list(model.trace_windows(text, pair, max_tokens=max_tokens, stride=stride))
    n_kept = len(QUESTION.split())
    room = max_tokens - 3 - n_kept
    covered: set[int] = set()
    for index, window in enumerate(windows):
        first, stop = window.tokens
        assert first == index * (stride or room // 2)
        part = WORDS[first:stop]
        sides = (part, QUESTION.split()) if swapped else (QUESTION.split(), part)
        trace = window.trace
        assert trace.tokens == ("[CLS]", *sides[0], "[SEP]", *sides[1], "[SEP]")
        assert trace.source.segments == (0,) * (len(sides[0]) + 2) + (1,) * (len(sides[1]) + 1)
        assert trace.source.n_full == len(WORDS) + n_kept + 3
        assert (trace.source.text, trace.source.pair) == (text, pair)
        assert window.slides == (0 if swapped else 1)
        assert (text, pair)[window.slides][slice(*window.characters)] == " ".join(part)
        words = [word for word in trace.source.words if word >= 0]
        assert words == list(range(len(words)))
        for token, segment, place in zip(trace.tokens, trace.source.segments, trace.source.offsets, strict=True):
            assert token.startswith("[") or (text, pair)[segment][slice(*place)] == token
        alone = model.trace(" ".join(sides[0]), " ".join(sides[1]))
        assert torch.equal(trace.output, alone.output)
        covered |= set(range(first, stop))
    assert covered == set(range(len(WORDS)))
    assert all(window.tokens[1] < len(WORDS) for window in windows[:-1])


def test_a_pair_that_fits_is_one_window_and_two_long_sentences_leave_a_quarter():
    model = tiny(n_segments=2)
    (only,) = model.windows("the cat", "a dog ran")
    assert only.sentence == model.tokenize("the cat", "a dog ran")
    both = model.windows(" ".join(WORDS), " ".join([*WORDS, "cat"]), max_tokens=43)  # 40 tokens of text
    assert {window.slides for window in both} == {1}
    assert {window.sentence.segments.count(0) - 2 for window in both} == {30}
    assert max(window.tokens[1] for window in both) == len(WORDS) + 1
    with pytest.raises(TextError, match=r"stride=31\b.* 1 to 4\b"):
        model.windows(QUESTION, " ".join(WORDS), max_tokens=13, stride=31)
    with pytest.raises(TextError, match=r"max_tokens=4\b.* 5 or more"):
        model.windows("the cat", "a dog", max_tokens=4)

"""Attribution of a sentence similarity: against D backward passes, its time at 24 tokens, its memory at 128.
The parts of `explain_score`: against one pass of both texts.

The usual computation needs D backward passes: a gradient of each dimension of the sentence vector, with the points of a
path as one batch. Both sides take the same points and texts, and give the same matrix.
"""

import statistics
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

import encoder
from benchmarks import memory, report, subjects, timing
from benchmarks.report import Figure
from encoder import TextEncoder, similarity
from encoder.inputs.text import Tokenized
from encoder.similarity.paths import nodes, vectors_before

#: Points of each path in the comparison; the time of both sides grows with it alike.
STEPS = 2
SHARE_OF_BACKWARD = 0.1
SECONDS = 5.0
LONG, LONG_BYTES = 128, 1_000_000_000
#: Tokens of each text, "words" or "pairs" -> seconds to reach.
EXPLAINED = {(24, "pairs"): 3.0, (LONG, "words"): 2.0, (LONG, "pairs"): 15.0}


def run(*, tokens: int = 24, rounds: int = 3, clock: str = "wall", long: int = LONG) -> Iterator[Figure]:
    """The figures of this part. tokens: of both texts; rounds: at least so many of each side; long: 0 leaves it out."""
    model = encoder.load("minilm", device="cpu")
    texts = pair(model, tokens)
    yield against_backward(model, texts, tokens, rounds, clock)
    yield whole(model, texts, tokens, rounds, clock)
    if long:
        yield peak(long)
    for length in (tokens, long) if long else (tokens,):
        yield from explained(model, pair(model, length), length, rounds, clock)


def pair(model: TextEncoder, tokens: int) -> tuple[str, str]:
    """Two different texts of so many tokens each."""
    first = subjects.sentence(model, tokens)
    words = [word for word in subjects.PROSE.split() if word.isalpha()]
    for start in range(len(words)):
        second = model.tokenize(" ".join(words[start:] + words), max_tokens=tokens)
        text = second.text[: second.offsets[-2][1]]
        if start > 20 and len(model.tokenize(text)) == tokens:
            return first.text[: first.offsets[-2][1]], text
    raise ValueError(f"no text of {tokens} tokens")


def against_backward(model: TextEncoder, texts: tuple[str, str], tokens: int, rounds: int, clock: str) -> Figure:
    """Directions forward against D gradients backward, at the same points."""
    calls = {
        "ours": lambda: similarity.attribute(model, *texts, steps=STEPS),
        "theirs": lambda: backward(model, *texts, steps=STEPS),
    }
    measured = timing.in_turn(calls, seconds=0, least=rounds, clock=clock)
    found = timing.ratio(measured["ours"], measured["theirs"])
    raw = {name: report.seconds(statistics.median(series)) for name, series in measured.items()}
    return Figure(
        "similarity",
        "attribution to input tokens",
        "D backward passes",
        found.value,
        tokens,
        "",
        SHARE_OF_BACKWARD,
        found.low,
        found.high,
        raw,
        f"{STEPS} points of each path",
    )


def backward(model: TextEncoder, a: str, b: str, steps: int) -> np.ndarray:
    """The same matrix [T_a, T_b] from D gradients for each text."""
    parts = [_backward(model, model.tokenize(text), steps) for text in (a, b)]
    return (parts[0] @ parts[1].T).numpy()


def _backward(model: TextEncoder, sentence: Tokenized, steps: int) -> Tensor:
    """[T, E]: (mean Jacobian) (x_i - r_i)."""
    end = vectors_before(model, sentence, 0)
    with torch.no_grad():
        pad = model.tokenizer.pad_id
        ids = [token if special else pad for token, special in zip(sentence.ids, sentence.special, strict=True)]
        start = model.encoder.embedding(torch.tensor([ids]), None, None)
    points, weights = (torch.from_numpy(part).float().view(-1, 1, 1) for part in nodes(steps))
    x = (start + points * (end - start)).requires_grad_()  # [N, T, D]
    hidden = x
    for context in model.encoder.attention_contexts(x, None):
        hidden = model.encoder.block(context.layer)(hidden, context)
    pooled = model.pool(hidden, torch.ones(hidden.shape[:2], dtype=torch.bool))
    vectors = torch.nn.functional.normalize(pooled, dim=-1)  # [N, E]
    columns = []
    for dimension in range(vectors.shape[1]):
        (gradient,) = torch.autograd.grad(vectors[:, dimension].sum(), x, retain_graph=True)  # [N, T, D]
        columns.append(((weights * gradient).sum(dim=0) * (end - start)[0]).sum(dim=-1))
    return torch.stack(columns, dim=-1).double()


def whole(model: TextEncoder, texts: tuple[str, str], tokens: int, rounds: int, clock: str) -> Figure:
    """Seconds of an attribution with as many steps as the error needs."""
    steps = similarity.attribute(model, *texts).steps
    measured = timing.in_turn(
        {"ours": lambda: similarity.attribute(model, *texts)}, seconds=0, least=rounds, clock=clock
    )
    value = statistics.median(measured["ours"])
    note = f"{steps} steps, {torch.get_num_threads()} threads"
    return Figure("similarity", "attribution, steps chosen", "", value, tokens, "s", SECONDS, note=note)


def explained(model: TextEncoder, texts: tuple[str, str], tokens: int, rounds: int, clock: str) -> Iterator[Figure]:
    """What the score loses without each word, and its split among pairs: passes that they cost, then seconds."""

    def words(each_word: bool = False) -> object:
        why = encoder.explain_score(model, *texts, each_word=each_word)
        return why.words_a, why.words_b

    calls = {
        "pass": lambda: model.embed(texts),
        "words": words,
        "pairs": lambda: encoder.explain_score(model, *texts).pairs,
    }
    levels = {side.level for side in encoder.explain_score(model, *texts).source.sides}
    if levels != {"word"}:
        calls["each word"] = lambda: words(each_word=True)
    measured = timing.in_turn(calls, seconds=0, least=rounds, clock=clock)
    raw = {name: report.seconds(statistics.median(series)) for name, series in measured.items()}
    note = f"parts: {', '.join(sorted(levels))}, {torch.get_num_threads()} threads"
    for name in calls:
        if name == "pass":
            continue
        found = timing.ratio(measured[name], measured["pass"])
        sides = {"ours": raw[name], "theirs": raw["pass"]}
        what = f"explained score, {name}"
        yield Figure("similarity", what, "one pass", found.value, tokens, "", None, found.low, found.high, sides, note)
        aim = EXPLAINED.get((tokens, name))
        if aim is not None:
            yield Figure("similarity", what, "", statistics.median(measured[name]), tokens, "s", aim, note=note)


def peak(tokens: int) -> Figure:
    """Resident memory of a process that attributes texts of so many tokens, libraries and weights included."""
    program = (
        "import encoder; from benchmarks import similarity; model = encoder.load('minilm', device='cpu'); "
        f"texts = similarity.pair(model, {tokens}); encoder.similarity.attribute(model, *texts, steps=1)"
    )
    value = memory.peak_resident(program) / 1e6
    return Figure("similarity", "memory of an attribution", "", value, tokens, "MB", LONG_BYTES / 1e6)

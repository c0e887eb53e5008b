"""Which words make a cosine: explanations next to each other, by what deleting and inserting words does.

`python -m benchmarks.why [--pairs N] [--file ROWS] [--published]`. Half of the pairs are WordNet's example sentences,
each with the nearest of 200 others; half are queries and tickets written here. Each method gives every word of both
texts a number.

Deletion: the words are deleted from the texts, those with the largest numbers first, and the area is the mean cosine
over the share that is deleted; a faithful method has a small one. Insertion: the texts begin empty, and words come back
in the same order; a faithful method has a large one (Petsiuk et al. 2018). Words are deleted from the text and not
masked, so that no method is judged by its own way of leaving a word out. Intervals of 95%: a bootstrap over pairs of
WordNet, and over tickets, since several pairs have the same one.
Correlation: Spearman's, with what the cosine loses when a single word is deleted. Time: of one pair, as a multiple of
embedding it. With `--file`, a run that was stopped goes on: pairs that the file has are not measured again.

`--published` also compares the integrated Jacobian of `encoder.similarity` with retrivex, where that is installed.
Captum's integrated gradients and the MaxSim map of sentence-transformers are methods where these are.

Shapes: W words of both texts, T tokens, D d_model.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr
from torch import Tensor

import encoder
from encoder import probe, search, similarity
from encoder.checkpoints.bundled import bundled_folder
from encoder.scores import Cosine, SideVectors, score_of
from encoder.scores.sides import Side
from encoder.similarity.derivative import linearise
from encoder.similarity.paths import make_path, single_directions

#: Shares of the words that are deleted, or inserted.
SHARES = np.linspace(0, 1, 11)
SAMPLE, DRAWS, STEPS = 200, 2_000, 16
#: Pairs for retrivex, whose time grows with both texts.
SHORT = (("a cat", "a kitten sleeps"), ("my parcel is late", "it has not arrived"))
QUERIES = {
    "Where is my parcel?": (
        "order 48213 was sent on Monday and has not arrived",
        "the courier left nothing at my door",
        "tracking shows no movement for nine days",
        "my neighbour did not receive the package either",
    ),
    "I want my money back": (
        "please refund the broken kettle",
        "you charged my card twice for one order",
        "I returned the shoes in May and still wait for the payment",
        "the discount code was not applied to my purchase",
    ),
    "The app does not open": (
        "it crashes when I log in on my phone",
        "after the update I only see a white screen",
        "the program freezes on the loading picture",
        "nothing happens when I tap the icon",
    ),
    "How do I change my password?": (
        "the reset mail never comes",
        "my account is locked since yesterday",
        "I forgot the answer to the security question",
        "the link for a new login has expired",
    ),
    "The bill is wrong": (
        "invoice 7731 has the address of my old office",
        "the tax number is missing on the receipt",
        "you counted three licences but we use two",
        "the amount on the statement differs from the offer",
    ),
    "Can I cancel my subscription?": (
        "I no longer need the monthly plan",
        "please stop the renewal before the first of June",
        "we close our company and end all contracts",
        "the trial became a paid account without my consent",
    ),
    "The device is too hot": (
        "the battery of my laptop burns my hand while charging",
        "smoke comes out of the power supply",
        "the fan is loud and the case feels warm",
        "my tablet switches off in the sun",
    ),
    "Do you ship to Norway?": (
        "which countries in Europe do you deliver to",
        "what does freight to Oslo cost",
        "customs asks me for a declaration of the goods",
        "can the order go to a post box in Sweden",
    ),
    "The colour is different": (
        "the blue shirt on the photo is green in reality",
        "I ordered a black chair and got a brown one",
        "the paint does not match the sample",
        "the lamp looks darker than on your page",
    ),
    "I cannot hear anything": (
        "the left side of the headphones is silent",
        "there is no sound during video calls",
        "the speaker crackles at high volume",
        "the microphone works but the other person stays mute",
    ),
}
OPENINGS = ("", "Hello team, ", "Good morning, I hope you are well. ", "As I wrote last week, ", "Hi! ")
ENDINGS = ("", " Kind regards, Anna", " Thank you for your help.", " Please answer soon.")


@dataclass(frozen=True)
class Pair:
    """Two texts as their words, and the cosine as the package explains it."""

    score: Cosine
    words: tuple[tuple[str, ...], tuple[str, ...]]
    #: "WordNet" or "tickets", and the name of what several pairs share.
    kind: str
    group: str
    #: Texts that were embedded, with their unit vectors: curves of all methods share many.
    known: dict[str, Tensor] = field(default_factory=dict)

    def cosines(self, kept: np.ndarray) -> np.ndarray:
        """kept bool [n, W] -> the cosines [n] of the texts with these words only."""
        n_a = len(self.words[0])
        texts = [
            [" ".join(word for word, stays in zip(words, row, strict=True) if stays) for row in rows]
            for words, rows in zip(self.words, (kept[:, :n_a], kept[:, n_a:]), strict=True)
        ]
        model: encoder.TextEncoder = self.score.sides[0].model
        new = [text for text in dict.fromkeys(texts[0] + texts[1]) if text not in self.known]
        vectors = torch.nn.functional.normalize(model.embed(new).double(), dim=-1) if new else ()
        self.known.update(zip(new, vectors, strict=True))
        one, other = (torch.stack([self.known[text] for text in some]) for some in texts)
        found: np.ndarray = (one * other).sum(dim=-1).numpy()
        return found


#: The numbers [W] of a pair's words, those of A first.
Method = Callable[[Pair], np.ndarray]


def pairs(model: encoder.TextEncoder, count: int) -> Iterator[Pair]:
    """Pairs of WordNet and of tickets in turn; the first ones are the same for any count."""
    sentences = [text for text in dict.fromkeys(probe.examples()) if 4 <= len(text.split()) <= 16]
    draw = np.random.default_rng(0)
    sample = [sentences[at] for at in draw.choice(len(sentences), SAMPLE, replace=False)]
    vectors = search.embed(model, sample).vectors
    nearest = (vectors @ vectors.T - 2 * np.eye(len(sample))).argmax(axis=1)
    tickets = [
        (query, f"{opening}{ticket[0].upper()}{ticket[1:]}.{ending}", ticket)
        for opening in OPENINGS
        for ending in ENDINGS
        for query, some in QUERIES.items()
        for ticket in some
    ]
    order = draw.permutation(len(tickets))
    for number in range(count):
        if number % 2:
            yield pair_of(model, *tickets[order[number // 2]][:2], "tickets", tickets[order[number // 2]][2])
        else:
            text = sample[number // 2]
            yield pair_of(model, text, sample[nearest[number // 2]], "WordNet", text)


def pair_of(model: encoder.TextEncoder, a: str, b: str, kind: str, group: str) -> Pair:
    """The words as they stand in the text, with their marks."""
    score = score_of(model, a, b, "cosine")
    assert isinstance(score, Cosine)
    words = a.split(), b.split()
    assert [len(side) for side in score.sides] == [len(some) for some in words], (a, b)
    return Pair(score, (tuple(words[0]), tuple(words[1])), kind, group)


# --- methods ----------------------------------------------------------------------------------------------------------


def left_out(pair: Pair) -> np.ndarray:
    """`explain_score(...).words_a`, `.words_b`."""
    fresh = Cosine(*map(SideVectors, pair.score.sides))
    return np.concatenate([fresh.value() - fresh.without(side) for side in (0, 1)])


def split(pair: Pair) -> np.ndarray:
    """The sums of the rows and of the columns of `explain_score(...).pairs`."""
    fresh = Cosine(*map(SideVectors, pair.score.sides))
    found = fresh.pairs()
    assert found is not None
    return np.concatenate([found.matrix.sum(axis=1), found.matrix.sum(axis=0)])


def deleted(pair: Pair) -> np.ndarray:
    """What the cosine loses when a word is deleted from its text: plain leave-one-out."""
    n_words = sum(map(len, pair.words))
    found = pair.cosines(np.concatenate([np.ones((1, n_words), dtype=bool), ~np.eye(n_words, dtype=bool)]))
    return found[0] - found[1:]


def at_random(pair: Pair, seed: int = 1) -> np.ndarray:
    """Random numbers."""
    return np.random.default_rng([seed, *map(len, pair.words)]).random(sum(map(len, pair.words)))


def attention(pair: Pair) -> np.ndarray:
    """What the tokens of a word receive in the last layer, the mean of heads and queries."""
    found = []
    for side in pair.score.sides:
        assert side.sentence is not None
        maps = side.model.trace_tokens(side.sentence).every_layer()[1]
        found.append(of_words(side, maps[-1].mean(dim=(0, 1)).double()))
    return np.concatenate(found)


def gradient(pair: Pair) -> np.ndarray:
    """Gradient of the cosine by a token's embedding, times the embedding."""
    found = []
    for side in (0, 1):
        with torch.enable_grad():
            x = pair.score.sides[side].x.detach().clone().requires_grad_()
            (slope,) = torch.autograd.grad(cosine(pair, side, x).sum(), x)
        found.append(of_words(pair.score.sides[side], (slope * x).sum(dim=-1)[0].detach().double()))
    return np.concatenate(found)


def jacobian(pair: Pair) -> np.ndarray:
    """The sums of the rows and columns of the integrated Jacobian, as published (Moeller et al. 2023)."""
    a, b = pair.score.sides
    matrix = torch.from_numpy(similarity.attribute(a.model, a.text, b.text, steps=STEPS).matrix)
    return np.concatenate([of_words(a, matrix.sum(dim=1)), of_words(b, matrix.sum(dim=0))])


def captum(pair: Pair) -> np.ndarray:
    """Captum's integrated gradients of the cosine from padding, for each text."""
    from captum.attr import IntegratedGradients

    found = []
    for at, side in enumerate(pair.score.sides):
        assert side.sentence is not None
        padding = list(side.sentence.ids)
        for part in side.parts:
            for token in part.tokens:
                padding[token] = side.model.tokenizer.pad_id
        base = side.model.encoder.embedding(torch.tensor([padding]), None, None).detach()
        method = IntegratedGradients(partial(cosine, pair, at))
        shares = method.attribute(side.x.detach(), baselines=base, n_steps=STEPS)
        found.append(of_words(side, shares.sum(dim=-1)[0].detach().double()))
    return np.concatenate(found)


def maxsim_map(pair: Pair) -> np.ndarray:
    """The map of sentence-transformers' `maxsim_heatmap`, each text as one row of patches: its sum over the other."""
    from sentence_transformers.multi_vector_encoder.interpretability import maxsim_similarity_map

    tokens = [next(side.outputs(side.everything()))[1][0] for side in pair.score.sides]
    one, other = (torch.nn.functional.normalize(some, dim=-1) for some in tokens)
    products = maxsim_similarity_map(one, other, (len(other), 1))[:, 0].double()
    a, b = pair.score.sides
    return np.concatenate([of_words(a, products.sum(dim=1)), of_words(b, products.sum(dim=0))])


def cosine(pair: Pair, side: int, x: Tensor) -> Tensor:
    """The cosines of vectors before layer 0, [n, T, D], with the other text."""
    model: encoder.TextEncoder = pair.score.sides[side].model
    output = model.encoder.before_layer(model.config.n_layers, x)
    vectors = model.pool(output, torch.ones(output.shape[:2], dtype=torch.bool))
    other = torch.from_numpy(pair.score.unit_vector(1 - side)).to(vectors)
    return torch.nn.functional.normalize(vectors, dim=-1) @ other


def of_words(side: Side, tokens: Tensor) -> np.ndarray:
    """Numbers of tokens [T] -> sums of words."""
    return np.array([float(tokens[list(part.tokens)].sum()) for part in side.parts])


#: Method -> the library that it needs.
NEEDS: dict[Method, str] = {captum: "captum", maxsim_map: "sentence_transformers"}
METHODS: dict[str, Method] = {
    "`explain_score`, words left out": left_out,
    "`explain_score`, sums of pairs": split,
    "plain leave-one-out": deleted,
    "integrated Jacobian, sums of pairs": jacobian,
    "Captum, integrated gradients": captum,
    "MaxSim map of sentence-transformers, summed": maxsim_map,
    "gradient x input": gradient,
    "attention of the last layer": attention,
    "random order": at_random,
}


# --- what is measured -------------------------------------------------------------------------------------------------


def areas(pair: Pair, numbers: np.ndarray) -> tuple[float, float]:
    """The mean cosine while words are deleted, and while they are inserted."""
    order = np.argsort(-numbers, kind="stable")
    counts = np.rint(SHARES * len(order)).astype(int)
    kept = np.ones((2, len(counts), len(order)), dtype=bool)
    for row, count in enumerate(counts):
        kept[0, row, order[:count]] = False
        kept[1, row] = ~kept[0, row]
    curves = pair.cosines(kept.reshape(-1, len(order))).reshape(2, -1)
    deletion, insertion = np.trapezoid(curves, SHARES, axis=1)
    return float(deletion), float(insertion)


def interval(rows: pd.DataFrame, column: str) -> str:
    """The mean of a column with its 95% interval: groups of pairs are drawn, of each kind as many as it has."""
    draw = np.random.default_rng(0)
    total, count = np.zeros(DRAWS), np.zeros(DRAWS)
    for _, of_kind in rows.groupby("kind"):
        groups = of_kind.groupby("group")[column].agg(["sum", "count"]).to_numpy()
        drawn = groups[draw.integers(0, len(groups), (DRAWS, len(groups)))].sum(axis=1)
        total, count = total + drawn[:, 0], count + drawn[:, 1]
    low, high = np.quantile(total / count, [0.025, 0.975])
    return f"{rows[column].mean():.3f} ({low:.3f}…{high:.3f})"


def rows_of(number: int, pair: Pair) -> pd.DataFrame:
    """A row for each method that is installed: pair, kind, group, method, deletion, insertion, correlation, time."""
    found: list[dict[str, object]] = []
    embedding = statistics.median(seconds(partial(whole_cosine, replace(pair, known={}))) for _ in range(3))
    losses = deleted(pair)
    for name, method in METHODS.items():
        if method in NEEDS and find_spec(NEEDS[method]) is None:
            continue
        fresh = replace(pair, known={})
        begin = time.perf_counter()
        numbers = method(fresh)
        taken = time.perf_counter() - begin
        deletion, insertion = areas(pair, numbers)
        correlation = np.nan_to_num(spearmanr(numbers, losses).statistic)
        named = {"pair": number, "kind": pair.kind, "group": pair.group, "method": name}
        values = {"deletion": deletion, "insertion": insertion, "correlation": correlation, "time": taken / embedding}
        found.append(named | values)
    return pd.DataFrame(found)


def measured(model: encoder.TextEncoder, count: int, file: Path | None) -> pd.DataFrame:
    """The rows of all pairs. file: CSV of pairs that were measured before, to which each new one is added."""
    for library in NEEDS.values():  # an import is no part of a method's time
        if find_spec(library) is not None:
            import_module(library)
    found = [] if file is None or not file.exists() else [pd.read_csv(file)]
    known = set(found[0]["pair"]) if found else set()
    for number, pair in enumerate(pairs(model, count)):
        if number not in known:
            found.append(rows_of(number, pair))
            if file is not None:
                pd.concat(found).to_csv(file, index=False)
    return pd.concat(found)


def table(rows: pd.DataFrame) -> str:
    """The table in Markdown, a row for each method."""
    lines = [
        f"| {rows['pair'].nunique()} pairs | deletion ↓ | insertion ↑ | correlation | time |",
        "|---|---|---|---|---|",
    ]
    for name, of_method in rows.groupby("method", sort=False):
        cells = [interval(of_method, column) for column in ("deletion", "insertion", "correlation")]
        lines.append(f"| {' | '.join([str(name), *cells])} | {of_method['time'].median():.1f} |")
    return "\n".join(lines)


def whole_cosine(pair: Pair) -> float:
    """The cosine of the texts as they are."""
    return float(pair.cosines(np.ones((1, sum(map(len, pair.words))), dtype=bool))[0])


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def published(model: encoder.TextEncoder, folder: Path, points: int) -> str:
    """retrivex and the integrated Jacobian of `encoder.similarity`, in one sentence.

    retrivex takes the mean of the Jacobian at `points` places of equal distance, the text's own among them, so its
    error falls as 1 / points. At these places both are compared as they are; with 2 A(2 n) - A(n), in which this error
    cancels, retrivex is compared with the Gauss-Legendre sum that the package takes.
    """
    from retrivex.stransformers import IntJacobianExplainableTransformer

    theirs = IntJacobianExplainableTransformer(str(folder), device="cpu").eval()
    same, limits, ratios = [], [], []
    for a, b in SHORT:
        found = []
        for n in (points, 2 * points):
            begin = time.perf_counter()
            found.append(theirs.explain(a, b, num_interpolation_steps=n, show_progress=False)[0].double().numpy())
            taken = time.perf_counter() - begin
        begin = time.perf_counter()
        ours = similarity.attribute(model, a, b, steps=128).matrix
        ratios.append(taken / (time.perf_counter() - begin))
        same.append(abs((_changes(model, a, points) @ _changes(model, b, points).T).numpy() - found[0]).max())
        limits.append(abs(2 * found[1] - found[0] - ours).max())
    return (
        f"{len(SHORT)} pairs, {model.name}. Largest difference of a cell: {max(same):.1g} at its "
        f"{points} points, {max(limits):.1g} in the limit of {points} and {2 * points}. Time: {2 * points} points "
        f"there, 128 here: {statistics.median(ratios):.1f} times as long."
    )


def _changes(model: encoder.TextEncoder, text: str, points: int) -> Tensor:
    """The mean derivative by each token's way from padding, at retrivex's points: float64 [T, E]."""
    path = make_path(model, model.tokenize(text), 0, "pad")
    way = path.end - path.start
    directions = single_directions(way[0], torch.arange(way.shape[1]))
    tangents = [linearise(model, path.start + (1 + k) / points * way, 0)[1] for k in range(points)]
    with torch.no_grad():
        return torch.stack([tangent(directions).double() for tangent in tangents]).mean(dim=0)


def small_bert(folder: Path) -> Path:
    """A BERT of three narrow layers with random weights, in the form of MiniLM's folder."""
    from transformers import BertConfig, BertModel

    shutil.copytree(bundled_folder("minilm"), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    given = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    torch.manual_seed(0)
    small = {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4, "num_hidden_layers": 3}
    model = BertModel(BertConfig(**(given | small | {"initializer_range": 0.06})))
    model.save_pretrained(folder)
    pooling = folder / "1_Pooling" / "config.json"
    how = json.loads(pooling.read_text(encoding="utf-8"))
    pooling.write_text(json.dumps(how | {"word_embedding_dimension": 48}), encoding="utf-8")
    return folder


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.why", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=200, metavar="N", help="pairs of texts (default: %(default)s)")
    parser.add_argument("--file", type=Path, metavar="ROWS", help="CSV of measured pairs, to stop and to go on")
    parser.add_argument("--published", action="store_true", help="compare with retrivex, which has to be installed")
    options = parser.parse_args()
    model = encoder.load("minilm", device="cpu")
    print(table(measured(model, options.pairs, options.file)))
    if options.published:
        print(published(model, bundled_folder("minilm"), 8))
        with tempfile.TemporaryDirectory() as place:
            folder = small_bert(Path(place) / "small")
            print(published(encoder.load(str(folder), device="cpu"), folder, 256))


if __name__ == "__main__":
    main()

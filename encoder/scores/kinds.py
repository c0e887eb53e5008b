"""The kinds of scores of two inputs, each with the same questions: its value, its value without parts, its pairs.

| kind | score | pairs add up because |
|:--|:--|:--|
| cosine | of two vectors, of texts, or of a text and an image or sound | Shapley values (`game`) |
| MaxSim | ColBERT's sum over the tokens of the first text | it is a sum over pairs of tokens |
| SPLADE | dot product of two sparse vectors | it is a sum over words of the vocabulary |
| cross-encoder | logit of the classification head for a pair of texts | Shapley values of both texts in turn (`game`) |

Shapes: n variants, G parts of one side, T tokens, E width of a vector, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from encoder.classify.predicted import classifier_of
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError, quoted
from encoder.inputs.text import readable
from encoder.model.pooling import SparseConfig
from encoder.scores.game import crossed, pair_errors
from encoder.scores.parts import words
from encoder.scores.runs import BothRuns, Runs, SideVectors
from encoder.scores.sides import Side, side_of, signal_side, text_side
from encoder.similarity.late import late_side

#: Parts of a text: its words up to WORDS of them, or up to EACH where each one is asked for; else FEW phrases,
#: sentences or passages. The work grows with parts x tokens.
WORDS, EACH, FEW = 64, 128, 24
#: Parts of each text whose pairs a cross-encoder is split among, tokens of one order of all, and orders.
PAIRED, ORDER_TOKENS, MOST_ORDERS = (24, 16, 12, 8, 5), 12_000, 16
#: Sparse vectors that are made at a time.
ROWS = 64


@dataclass(frozen=True, eq=False)
class Pairs:
    """A split of a score among pairs of parts. matrix float64 [G_a, G_b] adds up to the score.

    error [G_a, G_b]: the standard error of each cell, 0 where the split is exact; labels: of rows and columns.
    """

    matrix: np.ndarray
    error: np.ndarray
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    method: str


class Score:
    """A score of two inputs. sides: a and b; unit: what a number of it means."""

    kind: ClassVar[str]
    unit: ClassVar[str]
    sides: tuple[Side, Side]

    def scores(self, side: int, keep: np.ndarray) -> np.ndarray:
        """The scores [n] with these parts of one side kept, keep [n, G], and the other side whole."""
        raise NotImplementedError

    def value(self) -> float:
        """The score of the whole inputs."""
        return float(self.scores(0, self.sides[0].everything())[0])

    def without(self, side: int) -> np.ndarray:
        """The scores [G] with one part left out each."""
        return self.scores(side, self.sides[side].without_each())

    def pairs(self) -> Pairs | None:
        """The split among pairs; None where a cosine has a side without parts."""
        return None


class Cosine(Score):
    """The cosine of two vectors, each of one side only: a dot product of unit vectors."""

    kind, unit = "cosine", "cosine"

    def __init__(self, a: SideVectors, b: SideVectors) -> None:
        self.of_sides = (a, b)
        self.sides = (a.side, b.side)

    def unit_vector(self, side: int) -> np.ndarray:
        """The whole side's unit vector [E], float64."""
        return self.of_sides[side].whole

    def scores(self, side: int, keep: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.of_sides[side].vectors(keep) @ self.unit_vector(1 - side)
        return found

    def pairs(self) -> Pairs | None:
        if not all(map(len, self.sides)):
            return None
        a, b = (of_side.values for of_side in self.of_sides)
        how = "all sets" if a.is_exact and b.is_exact else f"{a.n_sets + b.n_sets:,} sets"
        labels = (self.sides[0].labels, self.sides[1].labels)
        return Pairs(a.values @ b.values.T, pair_errors(a, b), labels, f"Shapley values of both inputs, {how}")


class MaxSim(Score):
    """ColBERT's late interaction: the sum over a's tokens of their largest product with a token of b."""

    kind, unit = "MaxSim", "MaxSim, a sum of cosines over the tokens of A"

    def __init__(self, model: TextEncoder, a: str, b: str, most: int) -> None:
        read = late_side(model, a, "query"), late_side(model, b, "document")
        self.model, self._counts = model, tuple(list(one.counts) for one in read)
        if not all(self._counts):
            raise EncoderError("No token of one of the texts counts in this model: type more words.")
        one, other = (
            side_of(model, late.sentence, most, late.prompt, text, hidden=0 if late.attends else late.n_own)
            for late, text in zip(read, (a, b), strict=True)
        )
        self.sides = (one, other)
        self._whole = tuple(next(self._tokens(side, self.sides[side].everything()))[1][0] for side in (0, 1))

    def _tokens(self, side: int, keep: np.ndarray) -> Any:
        """(rows, vectors [m, T, E], bool [m, T] of the tokens that count), batch by batch."""
        late = self.model.late
        counting = torch.zeros(self.sides[side].x.shape[1], dtype=torch.bool, device=self.model.device)
        counting[self._counts[side]] = True
        for rows, output, kept in self.sides[side].outputs(keep):
            with torch.no_grad():
                for dense in self.model.token_dense:
                    output = dense(output)
            x = output.double()
            if late is None or late.normalise:
                x = torch.nn.functional.normalize(x, dim=-1)
            yield rows, x, kept & counting

    def matrix(self) -> np.ndarray:
        """[T_a, T_b]: the products of all tokens that count; -inf for others of b, 0 for others of a."""
        products = (self._whole[0] @ self._whole[1].T).cpu().numpy()
        products[:, np.setdiff1d(np.arange(products.shape[1]), self._counts[1])] = -np.inf
        products[np.setdiff1d(np.arange(products.shape[0]), self._counts[0])] = 0.0
        return products

    def scores(self, side: int, keep: np.ndarray) -> np.ndarray:
        found = np.empty(len(keep))
        for rows, x, counts in self._tokens(side, keep):
            if side == 0:
                best = (x @ self._whole[1][self._counts[1]].T).amax(dim=-1)  # [m, T_a]
                found[rows] = (best * counts).sum(dim=1).cpu().numpy()
            else:
                products = self._whole[0][self._counts[0]] @ x.transpose(1, 2)  # [m, T_a, T_b]
                found[rows] = products.masked_fill(~counts.unsqueeze(1), -torch.inf).amax(dim=-1).sum(-1).cpu().numpy()
        return found

    def pairs(self) -> Pairs | None:
        products = self.matrix()
        (rows, names_a), (columns, names_b) = (_of_tokens(side) for side in self.sides)
        matrix = np.zeros((len(names_a), len(names_b)))
        for token in self._counts[0]:
            best = int(products[token].argmax())
            matrix[rows[token], columns[best]] += products[token, best]
        return Pairs(matrix, np.zeros_like(matrix), (names_a, names_b), "the sum over tokens that MaxSim is")


class Sparse(Score):
    """SPLADE: the dot product of two vectors with a weight for each word of the vocabulary."""

    kind, unit = "SPLADE", "SPLADE, a sum over words of the vocabulary"

    def __init__(self, model: TextEncoder, a: str, b: str, most: int) -> None:
        self.model, self.how = model, model.sparse or SparseConfig()
        self.sides = (text_side(model, a, most), text_side(model, b, most))
        self._vectors = [self.vectors(side, self.sides[side].everything())[0] for side in (0, 1)]

    @torch.no_grad()
    def _weights(self, output: Tensor, kept: Tensor) -> Tensor:
        """Outputs [T, D] of one variant -> [T, V]; 0 for tokens that are left out."""
        return self.model.token_weights(output).double().masked_fill(~kept.unsqueeze(-1), 0.0)

    def vectors(self, side: int, keep: np.ndarray) -> Tensor:
        """Weights [n, V] in float64."""
        found = torch.zeros(len(keep), self.model.config.vocab_size, dtype=torch.float64)
        for rows, output, kept in self.sides[side].outputs(keep):
            for row, one, real in zip(rows, output, kept, strict=True):
                weights = self._weights(one, real)
                found[int(row)] = (weights.amax(dim=0) if self.how.pooling == "max" else weights.sum(dim=0)).cpu()
        return found

    def scores(self, side: int, keep: np.ndarray) -> np.ndarray:
        found: np.ndarray = (self.vectors(side, keep) @ self._vectors[1 - side]).numpy()
        return found

    def vocabulary(self) -> list[tuple[str, float]]:
        """(word of the vocabulary, its product), the largest first: they add up to the score."""
        products = self._vectors[0] * self._vectors[1]
        order = torch.argsort(products, descending=True, stable=True)
        return [(self.model.tokenizer.token(int(at)), float(products[at])) for at in order if products[at] > 0]

    def pairs(self) -> Pairs | None:
        (rows, names_a), (columns, names_b) = (_of_tokens(side) for side in self.sides)
        shares = []
        for side, groups in zip(self.sides, (rows, columns), strict=True):
            _, output, kept = next(side.outputs(side.everything()))
            weights = self._weights(output[0], kept[0])  # [T, V]
            if self.how.pooling == "max":
                mine = torch.arange(len(weights)).view(-1, 1) == weights.argmax(dim=0).cpu()
                weights = weights.cpu() * mine
            group = torch.zeros(max(groups) + 1, weights.shape[1], dtype=torch.float64)
            shares.append(group.index_add_(0, torch.tensor(groups), weights.cpu()))
        matrix = (shares[0] @ shares[1].T).numpy()[: len(names_a), : len(names_b)]
        return Pairs(matrix, np.zeros_like(matrix), (names_a, names_b), "the sum over the vocabulary that SPLADE is")


class CrossEncoder(Score):
    """The logit of a classification head for two texts in one pass. label: the class, by default the first."""

    kind, unit = "cross-encoder", "logit"

    def __init__(self, model: TextEncoder, a: str, b: str, most: int, label: int = 0) -> None:
        self.model, self.label, self.head = model, label, classifier_of(model, "sequence")
        self._texts, self._sentence = (a, b), model.tokenize(readable(a), readable(b))
        self.sides = self._divided(most)

    def _divided(self, most: int) -> tuple[Side, Side]:
        """Both texts, each in at most `most` parts."""
        one, other = (
            side_of(self.model, self._sentence, most, text=text, pair_side=at) for at, text in enumerate(self._texts)
        )
        return one, other

    def scores(self, side: int, keep: np.ndarray) -> np.ndarray:
        return self._logits(self.sides[side], self.sides[side].kept_tokens(keep))

    @torch.no_grad()
    def _logits(self, side: Side, kept: Tensor) -> np.ndarray:
        """kept tokens [n, T] -> logits [n]."""
        found = np.empty(len(kept))
        for rows, output, real in side.outputs_of(kept):
            found[rows] = self.head(output, real)[:, self.label].double().cpu().numpy()
        return found

    def pairs(self) -> Pairs | None:
        n_tokens = len(self._sentence)
        for most in PAIRED:
            a, b = self._divided(most)
            tokens = (len(a) + 1) * (len(b) + 1) * n_tokens // 2  # the mean text of an order has half of its parts
            if tokens <= ORDER_TOKENS:
                break
        orders = 2 * min(MOST_ORDERS // 2, max(2, 2 * ORDER_TOKENS // tokens))

        def scores(keep_a: np.ndarray, keep_b: np.ndarray) -> np.ndarray:
            return self._logits(a, a.kept_tokens(keep_a) & b.kept_tokens(keep_b))

        matrix, error = crossed(scores, len(a), len(b), orders)
        labels = ((*a.labels, "(nothing of A)"), (*b.labels, "(nothing of B)"))
        return Pairs(matrix, error, labels, f"Shapley values of both texts in turn, {orders} orders")


def _of_tokens(side: Side) -> tuple[list[int], tuple[str, ...]]:
    """For each token the row of its part, and the rows' labels; tokens of no part share the last row."""
    rows = [len(side)] * side.x.shape[1]
    for row, part in enumerate(side.parts):
        for token in part.tokens:
            rows[token] = row
    some = len(side) in rows
    return rows, (*side.labels, *(["(special tokens)"] if some else []))


def score_of(
    model: Any,
    a: Any,
    b: Any,
    kind: str = "auto",
    prompts: tuple[str | None, str | None] = (None, None),
    each_word: bool = False,
    runs: BothRuns | None = None,
) -> Score:
    """The score that a checkpoint is made for, of two inputs. For one with sides, a is a query and b a document.

    kind: "auto", or "cosine", "MaxSim", "SPLADE", "cross-encoder"; each_word, runs: as of `explain_score`. Raises
    EncoderError for a kind that the model lacks.
    """
    if isinstance(model, JointEncoder):
        if kind not in ("auto", "cosine"):
            raise EncoderError(f"{model.name} compares vectors: choose the kind cosine, not {kind}.")
        model.check_vectors()
        one, other = (
            text_side(model.text, given, _most(model.text, given, each_word))
            if isinstance(given, str)
            else signal_side(model.other, given)
            for given in (a, b)
        )
        return Cosine(SideVectors(one), SideVectors(other))
    if not isinstance(model, TextEncoder) and not isinstance(a, str):
        return Cosine(SideVectors(signal_side(model, a)), SideVectors(signal_side(model, b)))
    text = of_text(model, "explain_score compares two texts, two images, or an image and a caption.")
    kinds = kinds_of(text)
    kind = kinds[0] if kind == "auto" else kind
    if kind not in kinds:
        raise EncoderError(f"{text.name} gives no score of the kind {quoted(kind)}: choose one of {', '.join(kinds)}.")
    _check_form(text, kind)
    if kind == "cosine":
        runs = runs or (Runs(), Runs())
        return Cosine(
            of_text_side(text, a, "query", runs[0], prompts[0], each_word),
            of_text_side(text, b, "document", runs[1], prompts[1], each_word),
        )
    most = min(_most(text, one, each_word) for one in (a, b))
    made: dict[str, Any] = {"MaxSim": MaxSim, "SPLADE": Sparse, "cross-encoder": CrossEncoder}
    score: Score = made[kind](text, a, b, most)
    return score


def of_text_side(
    model: TextEncoder,
    text: str,
    role: Literal["query", "document"],
    runs: Runs,
    prompt: str | None = None,
    each_word: bool = False,
) -> SideVectors:
    """One text of a cosine, which is run only if `runs` does not have it."""
    own = model.searching(role)
    most = _most(own, text, each_word)
    name = (own.encoder, role, own.prompt(prompt), text, most)
    return runs.of(name, lambda: SideVectors(text_side(own, text, most, prompt)))


def _check_form(model: TextEncoder, kind: str) -> None:
    """Raise EncoderError where a score is made of more than the outputs of both texts' tokens, by one encoder."""
    why = ""
    if kind == "MaxSim" and model.late is not None and model.late.merge is not None:
        why = "merges vectors of tokens before MaxSim"
    elif kind in ("MaxSim", "SPLADE") and model.sides:
        why = "reads queries and documents with different weights"
    elif kind == "SPLADE" and model.sparse is not None and model.sparse.most is not None:
        why = f"keeps the largest {model.sparse.most} weights only"
    elif not all(model.searching(role).pools_output for role in ("query", "document")):
        why = "makes the vector of a text of more than its output"
    if why:
        raise EncoderError(f"{model.name} {why}, so its {kind} has no such parts: choose another model.")


def kinds_of(model: TextEncoder) -> list[str]:
    """The kinds of scores that a model of texts gives, the one that it was trained for first."""
    found = ["cosine", "MaxSim"]
    if model.mlm_head is not None:
        found.insert(0 if model.sparse is not None else 2, "SPLADE")
    if model.late is not None:
        found = ["MaxSim", *(kind for kind in found if kind != "MaxSim")]
    head = model.classifier
    if head is not None and head.config.kind == "sequence":
        found.insert(0 if len(head.config.labels) == 1 else len(found), "cross-encoder")
    return found


def _most(model: TextEncoder, text: str, each_word: bool) -> int:
    """Parts of a text: fewer for a long one, each of whose variants costs more."""
    n_words = len(words(model.tokenize(readable(text), max_tokens=model.max_embed_tokens)))
    if each_word:
        return EACH
    return WORDS if n_words <= WORDS else FEW

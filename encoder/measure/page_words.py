"""Words at places of a page: what a token attends to word by word, and in which direction each head attends.

The nodes of a tree of HTML are such words, too: each has a line of its own, farther to the right the deeper it is.

Shapes: L layers, H heads, T tokens, W words, R directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.inputs.boxes import words_of_tokens
from encoder.inputs.nodes import nodes_of_tokens, texts_of
from encoder.trace.tokens import page_patches
from encoder.trace.trace import Trace

#: Where a key is, seen from its query. "left", "right": on the same line, where the boxes share half of the smaller
#: height; "above", "below": on any higher or lower line; "here": in the same box; "special": nowhere.
DIRECTIONS = ("left", "right", "above", "below", "here", "special")
#: Where a node is in the tree, seen from its query. "inside", "around": its tags begin with those of the query, or the
#: other way round; "next": both are in the same tag; "apart": any other; "here": the same node; "special": nowhere.
RELATIONS = ("inside", "around", "next", "apart", "here", "special")
#: The direction of all patches of the image of a page.
IMAGE = "image"
#: The outline of a tree in thousandths of a page: a step to the right, the height of a line, of its text, and the width
#: of a letter.
INDENT, LINE, TALL, LETTER = 28, 40, 24, 9
#: Letters of a node that its line shows.
SHOWN = 20


@dataclass(frozen=True, eq=False)
class PageWords:
    """The words, or the nodes, of a trace that have tokens, and patches of the image of its page: W of them."""

    #: As they are in the text; of a node its tag, then the first letters.
    words: tuple[str, ...]
    #: [W, 4]: left, upper, right, lower; of a node in the outline of the tree.
    boxes: np.ndarray
    #: The tokens of each word.
    tokens: tuple[tuple[int, ...], ...]
    #: [T]: the word of each token, -1 for special tokens and padding.
    of_token: np.ndarray
    #: The paths of nodes; none of words.
    paths: tuple[str, ...] = ()
    #: How many of the last words are patches of the image of the page.
    n_patches: int = 0

    def unit(self, token: int) -> tuple[int, ...]:
        """The tokens of a token's word; a special token by itself."""
        word = int(self.of_token[token])
        return self.tokens[word] if word >= 0 else (token,)

    def parts(self, token: int | None = None) -> np.ndarray:
        """[T]: each token's part in the mean over a token's word, or over all words, each of which counts once and
        patches not at all."""
        units = self.tokens[: len(self.tokens) - self.n_patches] if token is None else (self.unit(token),)
        parts = np.zeros(len(self.of_token), dtype=np.float32)
        for unit in units:
            parts[list(unit)] = 1 / (len(unit) * len(units))
        return parts

    def to_words(self, maps: Tensor, token: int | None) -> np.ndarray:
        """maps [T, T] -> [W]: what a token's word gives to each word, the sum over its tokens; None: the mean word."""
        row = self._mean(maps, token)
        return np.array([row[list(some)].sum() for some in self.tokens], dtype=np.float32)

    def to_special(self, maps: Tensor, token: int | None) -> float:
        """maps [T, T]: what they give to special tokens; with `to_words`, the sum is 1."""
        return float(self._mean(maps, token)[self.of_token < 0].sum())

    def _mean(self, maps: Tensor, token: int | None) -> np.ndarray:
        """[T]: the mean row."""
        parts = torch.from_numpy(self.parts(token)).to(maps.device)
        return (parts @ maps.float()).cpu().numpy()

    def from_words(self, maps: Tensor, tokens: Sequence[int]) -> np.ndarray:
        """maps [T, T], some keys -> [W]: the weight that each word gives to them together, the mean over its tokens."""
        column = maps[:, list(tokens)].float().sum(1).cpu().numpy()
        return np.array([column[list(some)].mean() for some in self.tokens], dtype=np.float32)


def page_words(trace: Trace) -> PageWords:
    """The words of a trace with their boxes, or its nodes. Raises EncoderError for a trace without boxes and nodes."""
    source = trace.source
    if source is None or source.places is None:
        raise EncoderError("This trace has no words at places of a page: specify trace(text, boxes=...).")
    tokens: dict[int, list[int]] = {}
    units = words_of_tokens(source) if source.nodes is None else nodes_of_tokens(source)
    for token, unit in enumerate(units[: trace.n_real]):
        if unit is not None:
            tokens.setdefault(unit, []).append(token)
    patches = page_patches(trace)
    n_words = len(tokens)
    tokens |= {-1 - token: [token] for token in patches}
    of_token = np.full(trace.n_tokens, -1)
    for place, some in enumerate(tokens.values()):
        of_token[some] = place
    paths: tuple[str, ...] = ()
    if source.nodes is None:
        texts = source.text.split(" ")
        words = (*(texts[word] for word in list(tokens)[:n_words]), *(source.labels[token] for token in patches))
        boxes = np.array([source.places[some[0]] for some in tokens.values()]).reshape(-1, 4)
    else:
        nodes = texts_of(source.text if source.pair is None else source.pair, source.nodes)
        paths = tuple(nodes.paths[node] for node in tokens)
        words = tuple(_shown(nodes.texts[node], nodes.paths[node]) for node in tokens)
        boxes = outline(words, paths)
    return PageWords(words, boxes, tuple(map(tuple, tokens.values())), of_token, paths, len(patches))


def _shown(text: str, path: str) -> str:
    """A node in the outline: its tag, then its first letters."""
    text = " ".join(text.split())
    return f"{path.rsplit('/', 1)[-1]}: {text if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}"


def outline(words: Sequence[str], paths: Sequence[str]) -> np.ndarray:
    """[W, 4]: a line for each node, farther to the right the deeper it is."""
    depth = [INDENT * path.count("/") for path in paths]
    shallowest = min(depth, default=0)
    rows = [
        (left - shallowest, LINE * at, left - shallowest + LETTER * len(word), LINE * at + TALL)
        for at, (left, word) in enumerate(zip(depth, words, strict=True))
    ]
    return np.array(rows).reshape(-1, 4)


def related(paths: Sequence[str]) -> np.ndarray:
    """[W, W]: the place in RELATIONS of each node j, seen from node i; never "special"."""
    found = np.full((len(paths), len(paths)), RELATIONS.index("apart"))
    for i, of_query in enumerate(paths):
        for j, of_key in enumerate(paths):
            if i == j:
                found[i, j] = RELATIONS.index("here")
            elif of_query == of_key or of_query.rpartition("/")[0] == of_key.rpartition("/")[0]:
                found[i, j] = RELATIONS.index("next")
            elif of_key.startswith(f"{of_query}/"):
                found[i, j] = RELATIONS.index("inside")
            elif of_query.startswith(f"{of_key}/"):
                found[i, j] = RELATIONS.index("around")
    return found


def seen_from(boxes: np.ndarray) -> np.ndarray:
    """boxes [W, 4] -> [W, W]: the place in DIRECTIONS of each key j, seen from query i; never "special"."""
    left, upper, right, lower = boxes.T.astype(float)
    shared = np.minimum(lower[:, None], lower) - np.maximum(upper[:, None], upper)
    height = np.minimum((lower - upper)[:, None], lower - upper)
    x, y = left + right, upper + lower
    same_line = 2 * shared >= height
    across = np.where(x < x[:, None], DIRECTIONS.index("left"), DIRECTIONS.index("right"))
    down = np.where(y < y[:, None], DIRECTIONS.index("above"), DIRECTIONS.index("below"))
    found = np.where(same_line, across, down)
    here = (boxes[:, None] == boxes).all(-1)
    return np.where(here, DIRECTIONS.index("here"), found)


@dataclass(frozen=True, eq=False)
class Directions:
    """How much each head attends in each direction; the shares of a head add up to 1."""

    #: DIRECTIONS; of nodes RELATIONS; with the image of a page IMAGE, too.
    names: tuple[str, ...]
    #: [L, H, R]: the mean over words, of each the mean over its tokens.
    heads: np.ndarray
    #: [R]: the same of uniform attention.
    uniform: np.ndarray

    def most(self, direction: str) -> tuple[int, int]:
        """Layer and head with the largest share in a direction."""
        layer, head = np.unravel_index(self.heads[..., self.names.index(direction)].argmax(), self.heads.shape[:2])
        return int(layer), int(head)


def directions(trace: Trace) -> Directions:
    """The directions of every head. Raises EncoderError for a trace without boxes and nodes."""
    found = page_words(trace)
    n_real, of_token = trace.n_real, found.of_token[: trace.n_real]
    by_word = related(found.paths) if found.paths else seen_from(found.boxes)
    names = (*(RELATIONS if found.paths else DIRECTIONS), *((IMAGE,) if found.n_patches else ()))
    seen = np.full((n_real, n_real), names.index("special"))
    seen[:, list(page_patches(trace))] = names.index(names[-1])
    words = np.flatnonzero((of_token >= 0) & (of_token < len(found.tokens) - found.n_patches))
    seen[np.ix_(words, words)] = by_word[of_token[words]][:, of_token[words]]
    which = torch.nn.functional.one_hot(torch.from_numpy(seen[words]), len(names)).float()  # [W', T, R]
    which = (which * torch.from_numpy(found.parts()[words])[:, None, None]).to(trace.mask.device)
    rows = torch.from_numpy(words).to(trace.mask.device)
    heads = [
        torch.einsum("hij,ijr->hr", trace.layer_attention(layer)[:, rows, :n_real], which)
        for layer in range(trace.config.n_layers)
    ]
    return Directions(names, torch.stack(heads).cpu().numpy(), (which.sum((0, 1)) / n_real).cpu().numpy())

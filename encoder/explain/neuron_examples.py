"""The words of many texts at which the neurons of a layer are most active.

    found = explain.neuron_examples(model, probe.examples(), layer=2)    # of all neurons of the layer at once
    [(one.word, one.activation) for one in found.of(1185)]
    found.share[1185]                                                    # of all words, where it is active

Shapes: B texts of a batch, T tokens, W words, D d_model, F width of the FFN, K words kept for each neuron.
"""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.ffn import active_above, strength
from encoder.explain.place import Place
from encoder.inputs.text import Tokenized, texts_of
from encoder.model.device import explain_out_of_memory
from encoder.model.hooks import visiting
from encoder.trace import gradual

BATCH = 32
#: Tokens of a text that are read.
MOST_TOKENS = 256


@dataclass(frozen=True)
class ActiveWord:
    """A word of a text, and the activation of a neuron there: of its tokens, the strongest."""

    text: str = field(repr=False)
    #: Its first character in the text.
    start: int
    #: The character after its last.
    end: int
    activation: float

    @property
    def word(self) -> str:
        """The word as the text has it."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, eq=False, repr=False)
class NeuronExamples:
    """Of each neuron of a layer the K words with the strongest activations, and how often it is active.

    Special tokens are not words, and are counted by themselves. A neuron is active as in `HiddenActivations`.
    """

    layer: int
    texts: tuple[str, ...]
    #: int32 [W, 3]: of each word the index of its text, its first character, and the character after its last.
    words: NDArray[np.integer]
    #: float32 [F, K]: the strongest first.
    activations: Floats
    #: [F, K]: their rows of `words`.
    places: NDArray[np.integer]
    #: [F]: the number of words at which the neuron is active.
    n_active: NDArray[np.integer]
    #: Special token -> [F]: the share of its places at which the neuron is active.
    special: Mapping[str, Floats]

    @property
    def share(self) -> Floats:
        """[F]: the share of all words at which the neuron is active."""
        return self.n_active / len(self.words)

    def __repr__(self) -> str:
        return f"<NeuronExamples of layer {self.layer}: {len(self.words):,} words of {len(self.texts):,} texts>"

    def of(self, neuron: int) -> tuple[ActiveWord, ...]:
        """At most K words at which this neuron is active, the strongest first. Raises EncoderError without it."""
        if not 0 <= neuron < len(self.n_active):
            raise EncoderError(f"No neuron {neuron} in this layer: choose 0 to {len(self.n_active) - 1}.")
        words = self.words[self.places[neuron, : self.n_active[neuron]]].tolist()
        return tuple(
            ActiveWord(self.texts[text], start, end, value)
            for (text, start, end), value in zip(words, self.activations[neuron].tolist(), strict=False)
        )

    def named(self, neuron: int) -> list[tuple[str, int]]:
        """The words of `of` in small letters, each with its number of places, the most frequent first."""
        return Counter(one.word.lower() for one in self.of(neuron)).most_common()


class _Hidden:
    """A visitor of a forward pass that keeps the hidden activations of one layer, [B, T, F]."""

    def __init__(self, layer: int) -> None:
        self._layer, self.value = layer, torch.empty(0)

    def needs_scores(self, layer: int) -> bool:
        """The pass may use torch's fused attention."""
        return False

    def visit(self, name: str, layer: int | None, value: Tensor) -> Tensor:
        """Keep the value of this hook point; nothing is changed."""
        if name == "ffn.hidden" and layer == self._layer:
            self.value = value
        return value


def iter_neuron_examples(
    model: TextEncoder, texts: Sequence[str] | str, layer: int, k: int = 10
) -> Generator[float, None, NeuronExamples]:
    """Run all texts up to this layer, those of similar length together; yields the share that is done.

    k: words that are kept for each neuron. Raises EncoderError without texts or words, and for a layer that does not
    exist.
    """
    model, texts = of_text(model, "choose a text model."), tuple(texts_of(texts))
    Place(layer=layer).checked(model.config, 1)
    tokens = [model.tokenize(text, max_tokens=min(MOST_TOKENS, model.config.max_tokens)) for text in texts]
    order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
    threshold, n_neurons = active_above(model.config), model.config.of_layer(layer).d_ffn
    words, n_words = [np.empty((0, 3), np.int32)], 0
    values, places = np.empty((n_neurons, 0), np.float32), np.empty((n_neurons, 0), np.int64)
    n_active = np.zeros(n_neurons, np.int64)
    special: dict[str, list[NDArray[np.bool_]]] = defaultdict(list)
    for first in range(0, len(order), BATCH):
        some = order[first : first + BATCH]
        sentences = [tokens[place] for place in some]
        of_tokens = _hidden(model, layer, sentences)  # [B, T, F]
        for row, column in _special(sentences):
            active = strength(of_tokens[row, column], model.config) > threshold
            special[sentences[row].labels[column]].append(active)
        hidden, found = _of_words(model, of_tokens, sentences)  # [W, F], [W, 3]
        found[:, 0] = np.array(some)[found[:, 0]]
        values = np.concatenate([values, hidden.T], axis=1)
        new = np.broadcast_to(np.arange(n_words, n_words + len(found)), (n_neurons, len(found)))
        places = np.concatenate([places, new], axis=1)
        strengths = strength(values, model.config)
        chosen = torch.from_numpy(strengths).topk(min(k, strengths.shape[1]), dim=1).indices.numpy()
        n_active += (strengths[:, strengths.shape[1] - len(found) :] > threshold).sum(axis=1)
        values, places = np.take_along_axis(values, chosen, axis=1), np.take_along_axis(places, chosen, axis=1)
        words.append(found)
        n_words += len(found)
        yield (first + len(some)) / len(order)
    if not n_words:
        raise EncoderError("No words in these texts: specify at least one.")
    shares = {label: np.mean(active, axis=0) for label, active in special.items()}
    return NeuronExamples(layer, texts, np.concatenate(words), values, places, n_active, shares)


neuron_examples = gradual.at_once(iter_neuron_examples, "neuron_examples")


def _hidden(model: TextEncoder, layer: int, sentences: list[Tokenized]) -> Floats:
    """The hidden activations of a batch, [B, T, F]."""
    batch, encoder, kept = model.tokenizer.batch(sentences, model.device), model.encoder, _Hidden(layer)
    # A padding token that the encoder has no vector for: the mask hides it, so any vector does.
    ids = batch.ids if model.can_pad else batch.ids.where(batch.ids < model.config.vocab_size, 0)
    with explain_out_of_memory(model.device, ids.numel()), torch.no_grad(), visiting(kept):
        x = encoder.embedding(ids, batch.mask, batch.segments, 0, batch.places)
        encoder.before_layer(layer + 1, x, batch.mask, places=batch.places)
    return kept.value.float().cpu().numpy()


def _special(sentences: list[Tokenized]) -> Iterator[tuple[int, int]]:
    """Row and column of every special token of a batch."""
    for row, sentence in enumerate(sentences):
        yield from ((row, column) for column, special in enumerate(sentence.special) if special)


def _of_words(model: TextEncoder, hidden: Floats, sentences: list[Tokenized]) -> tuple[Floats, NDArray[np.int32]]:
    """hidden [B, T, F] -> that of the words, [W, F], and their places: row of the batch, first character, end."""
    words: list[tuple[int, int, int]] = []
    at: list[tuple[int, int]] = []  # the tokens of words: row, column
    firsts: list[int] = []  # of each word its first token, as an index of `at`
    for row, sentence in enumerate(sentences):
        last = -1
        for column, (word, (start, end)) in enumerate(zip(sentence.words, sentence.offsets, strict=True)):
            if word < 0:
                continue
            if word == last:
                words[-1] = row, words[-1][1], max(words[-1][2], end)
            else:
                firsts.append(len(at))
                words.append((row, start, end))
            last = word
            at.append((row, column))
    if not words:
        return np.empty((0, hidden.shape[-1]), np.float32), np.empty((0, 3), np.int32)
    rows, columns = zip(*at, strict=True)
    of_tokens = hidden[list(rows), list(columns)]
    found = np.maximum.reduceat(of_tokens, firsts, axis=0)
    if model.config.gated:
        lowest = np.minimum.reduceat(of_tokens, firsts, axis=0)
        found = np.where(-lowest > found, lowest, found)
    return found, np.array(words, dtype=np.int32)

"""What the settings of generation change about the scores of the next token, in the order of transformers.

The order matters: a forced token is forced whatever was forbidden before it, and what comes after it may forbid it
again. Greedy search changes logits, beam search log probabilities.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.encoders.seq2seq import GenerationSettings


@dataclass(frozen=True)
class Processors:
    """Those of one output.

    settings: of the decoder; source: the ids of the input's text, None for another input; n_before: tokens before the
    first that is chosen; longest: tokens, those included.
    """

    settings: GenerationSettings
    source: tuple[int, ...] | None
    n_before: int
    longest: int

    def __call__(self, row: tuple[int, ...], scores: Tensor) -> Tensor:
        """Scores [V] of the token after a row -> the changed ones; what is forbidden has -inf."""
        scores = self._before_forced(row, scores.clone())
        settings = self.settings
        if len(row) == 1 and settings.first is not None:
            scores = _only(scores, settings.first)
        if len(row) == self.longest - 1 and settings.last is not None:
            scores = _only(scores, settings.last)
        if settings.finite:
            scores = torch.nan_to_num(scores, nan=0.0)
        if settings.decay_from is not None and (late := len(row) - settings.decay_from - self.n_before) > 0:
            ends = _known(settings.end, scores)
            growth = scores[ends].abs() * (pow(settings.decay, late) - 1)
            scores[ends] = scores[ends] + growth.masked_fill(~scores[ends].isfinite(), 0.0)
        forbidden = [*settings.never]
        if len(row) == self.n_before + (self.n_before == 1 and settings.first is not None):
            forbidden += settings.never_first
        scores[_known(forbidden, scores)] = -torch.inf
        return scores.log_softmax(-1) if settings.renormalise else scores

    def _before_forced(self, row: tuple[int, ...], scores: Tensor) -> Tensor:
        settings = self.settings
        for words in settings.bias:
            if _follows(row, words.ids):
                scores[_known(words.ids[-1:], scores)] += words.by
        if settings.source_penalty != 1.0 and self.source is not None:
            _penalise(scores, self.source, 1 / settings.source_penalty)
        if settings.repeat_penalty != 1.0:
            _penalise(scores, row, settings.repeat_penalty)
        forbidden = repeats(row, settings.no_repeat)
        if self.source is not None:
            forbidden += repeats(row, settings.no_repeat_source, self.source)
        forbidden += [words.ids[-1] for words in settings.banned if _follows(row, words.ids)]
        if len(row) < settings.least or len(row) - self.n_before < settings.least_new:
            forbidden += settings.end
        scores[_known(forbidden, scores)] = -torch.inf
        return scores


def repeats(row: Sequence[int], size: int, among: Sequence[int] | None = None) -> list[int]:
    """The tokens that would repeat a sequence of `size` tokens of the row, or of `among`; none for size 0."""
    among = row if among is None else among
    if not 0 < size <= len(among) or len(row) < size - 1:
        return []
    end = tuple(row[len(row) - size + 1 :])
    return [among[at + size - 1] for at in range(len(among) - size + 1) if tuple(among[at : at + size - 1]) == end]


def _follows(row: tuple[int, ...], ids: tuple[int, ...]) -> bool:
    """Whether the last of `ids` would complete them after the row."""
    return len(ids) - 1 <= len(row) and (len(ids) == 1 or row[1 - len(ids) :] == ids[:-1])


def _penalise(scores: Tensor, ids: Iterable[int], penalty: float) -> None:
    """Make the tokens `ids` less probable, for a penalty above 1: a score below 0 grows away from 0."""
    places = _known(dict.fromkeys(ids), scores)
    chosen = scores[places]
    scores[places] = torch.where(chosen < 0, chosen * penalty, chosen / penalty)


def _only(scores: Tensor, ids: int | tuple[int, ...]) -> Tensor:
    found = torch.full_like(scores, -torch.inf)
    found[_known((ids,) if isinstance(ids, int) else ids, scores)] = 0.0
    return found


def _known(ids: Iterable[int], scores: Tensor) -> list[int]:
    """Those that the vocabulary has."""
    return [one for one in ids if one < len(scores)]

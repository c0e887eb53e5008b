"""What makes the score: both texts, each word shaded by what the score loses without it."""

import dataclasses
from functools import partial

import numpy as np
import streamlit as st

from encoder.figures.colours import signed_lut
from encoder.inputs.sound_files import wav_bytes
from encoder.measure import patches
from encoder.scores import ScoreExplanation, WordEffect
from encoder.texts.hits import LEAST_EFFECT
from pages.components.patch_map import patch_map
from pages.core.stores import estimates, input_kinds
from pages.core.widgets import answer, over_image, shaded
from pages.core.words import number, plain
from pages.state import state
from pages.texts.params import Params
from pages.texts.subject import Subject

#: Words that the answer names.
NAMED = 3
#: Decimals of the score and of what is subtracted from it.
DIGITS = 4
#: Pixels of an image's longer side.
IMAGE_SIZE = 260


def draw(subject: Subject) -> None:
    """The strongest words, both texts, and the sums."""
    passes = [(side.model.config, side.x.shape[1], len(side)) for side in subject.why.source.sides]
    flops = sum(n_parts * estimates.flops(config, n_tokens) for config, n_tokens, n_parts in passes)
    why = subject.worked("words", lambda: _words(subject.why), "Leave out each word", flops=flops)
    if why is None:
        return
    level = {side.level for side in why.source.sides} - {"word"}
    is_media = subject.given is not None
    if (level or subject.params.each_word) and not is_media:
        state.bound(st.toggle, Params.each_word, "Each word", help="Of up to 128 words. It takes longer than phrases.")
    both = [("query", one) for one in why.words_a] + [("text", one) for one in why.words_b]
    by_size = sorted(both, key=lambda one: -abs(one[1].effect))[:NAMED]
    named = [one for one in by_size if abs(one[1].effect) >= LEAST_EFFECT]
    everything = [one for _, one in both]
    with answer.area():
        changed = f"Leaving out a word does not change the {why.kind}."
        if named:
            (of, most), *others = named
            said = [f"Without “**{plain(most.word)}**” of the {of}, the {why.kind} {_changes(most.effect)}"]
            said += [f"without “**{plain(one.word)}**” of the {of}, it {_changes(one.effect)}" for of, one in others]
            changed = f"{'; '.join(said)}."
        answer.draw(changed if everything else "No word to leave out.")
    limit = max((abs(one.effect) for one in everything), default=1.0)
    sides = (("Query", subject.query, why.words_a), ("Text", subject.text, why.words_b))
    if not is_media:
        texts = [
            shaded.paragraph(name, text, _parts(words), limit, bool(side.cut_at), partial(_said, subject.why, name))
            for (name, text, words), side in zip(sides, why.source.sides, strict=True)
        ]
        st.html(shaded.answering(texts, f"Select a {'part' if level else 'word'} for its number."))
    else:
        for column, (name, text, words), at in zip(st.columns(2), sides, (0, 1), strict=True):
            with column:
                _of_input(subject, at, name, text, words, limit)
    part = "part" if level else "word"
    note = f" Left out by {' and by '.join(sorted(level))}." if level else ""
    st.caption(
        f"{' '.join(_sums(name, why.score, words) for name, _, words in sides if words)} Teal: the score falls without "
        f"this {part}; orange: it rises. Measured by running the model without the {part}, the others in their places. "
        f"{part.capitalize()}s act together, so effects need not add up to the score.{note}"
    )


def _of_input(subject: Subject, at: int, name: str, text: str, words: tuple[WordEffect, ...], limit: float) -> None:
    """An image with the effect of each region over it, a sound with its stretches, or a caption."""
    side, takes = subject.why.source.sides[at], subject.why.source.sides[at].model.takes
    over = side.over_patches(np.array([one.effect for one in words]))
    if over is not None:
        st.caption(f"{name}: {plain(text)}")
        image = input_kinds.of(side.model).shown(side.model, subject.names[at])
        assert image is not None, "what has patches is shown as a picture"
        look = {"colorscale": signed_lut(), "signed": True, "size": IMAGE_SIZE, "opacity": over_image.OPACITY}
        what = f"{subject.why.kind} lost without it"
        alt = f"{name}: {text}, each region coloured by what the {subject.why.kind} loses without it."
        grid = patches.grid_of(side.layout)
        look |= {"names": grid.names_of_patches, "tile": grid.tile}
        patch_map(image, over, key=f"texts-image:{at}", alt=alt, label=what, top=limit, **look)
        return
    if takes == "sound":
        st.audio(wav_bytes(subject.given[at]), format="audio/wav")  # type: ignore[index]
        text, words = _written(words)
    st.html(f'<div class="enc-shaded">{shaded.paragraph(name, text, _parts(words), limit)}</div>')


def _written(words: tuple[WordEffect, ...]) -> tuple[str, tuple[WordEffect, ...]]:
    """The stretches of a sound as a text."""
    text, placed = "", []
    for one in words:
        placed.append(dataclasses.replace(one, start=len(text), end=len(text) + len(one.word)))
        text += one.word.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}") + " "
    return text, tuple(placed)


def _changes(effect: float) -> str:
    """What the score does without a word that has this effect: "falls by 0.0620"."""
    return f"{'falls' if effect > 0 else 'rises'} by {number(abs(effect), DIGITS)}"


def _said(why: ScoreExplanation, of: str, word: str, effect: float) -> str:
    """What a word's number means: the score with it and without it, which differ by what is written."""
    score, fall = round(why.score, DIGITS), round(effect, DIGITS)
    changes = f"{_changes(fall)}, from {number(score, DIGITS)} to {number(score - fall, DIGITS)}"
    if fall == 0:
        changes = f"changes by less than {10**-DIGITS:.{DIGITS}f}"
    return f"Without “{word}” of the {of.lower()}, the {why.kind} {changes}."


def _sums(name: str, score: float, words: tuple[WordEffect, ...]) -> str:
    """The sum of a text's effects, and what is left of the score."""
    total = round(sum(one.effect for one in words), DIGITS)
    rest = round(score, DIGITS) - total  # so that what is written adds up
    return f"{name}, all words together: {_signed(total, DIGITS)}; the rest of the score: {_signed(rest, DIGITS)}."


def _words(why: ScoreExplanation) -> ScoreExplanation:
    """The explanation once both texts' words are measured."""
    _ = why.words_a, why.words_b
    return why


def _parts(words: tuple[WordEffect, ...]) -> list[tuple[int, int, float]]:
    return [(one.start, one.end, one.effect) for one in words]


def _signed(value: float, digits: int = 3) -> str:
    return ("+" if value > 0 else "") + number(value, digits)

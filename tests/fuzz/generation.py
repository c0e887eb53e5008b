"""Mutated settings of generation: what ours writes is what transformers writes, greedily and by beams."""

from __future__ import annotations

import dataclasses
import json
import random
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig

from encoder.checkpoints.families import Fields
from encoder.checkpoints.generation import FILE, read_settings
from encoder.encoders.seq2seq import check_decoder
from encoder.errors import EncoderError
from tests.fuzz.checkpoints import Found, bounded
from tests.load import decoders
from tests.load.decoders import CASES, Pair, generated

FAMILIES = ("t5", "bart", "pegasus", "marian", "m2m100", "whisper", "gpt2")
BEAMS = (1, 2, 4)
MOST = 9
#: What Whisper's own `generate` of transformers sets or asks for by itself.
NOT_OF_WHISPER = {"forced_bos_token_id", "forced_eos_token_id", "eos_token_id", "renormalize_logits"}


class Pairs:
    """Ours and the reference of each family, opened once."""

    def __init__(self) -> None:
        self._stack, self._made = ExitStack(), dict[str, Pair]()

    def __getitem__(self, family: str) -> Pair:
        if family not in self._made:
            self._made[family] = self._stack.enter_context(decoders.pair(CASES[family]))
        return self._made[family]

    def close(self) -> None:
        """Remove what was written."""
        self._stack.close()


def settings_of(chance: random.Random, family: str, size: int) -> dict[str, Any]:
    """Some fields of generation_config.json, with values that change an output of random weights."""

    def one() -> int:
        return chance.randrange(size)

    def some(most: int = 6) -> list[int]:
        return [one() for _ in range(chance.randrange(1, most))]

    fields: dict[str, Any] = {
        "forced_bos_token_id": lambda: one(),
        "forced_eos_token_id": lambda: chance.choice((one(), 2, 3, sorted({*some(3)}))),
        "min_length": lambda: chance.choice((0, 1, 4, MOST, 50)),
        "min_new_tokens": lambda: chance.choice((0, 1, 4, MOST)),
        "no_repeat_ngram_size": lambda: chance.choice((0, 1, 2, 3)),
        "encoder_no_repeat_ngram_size": lambda: chance.choice((0, 1, 2)),
        "bad_words_ids": lambda: [some(chance.choice((2, 4))) for _ in range(chance.choice((1, 30)))],
        "suppress_tokens": lambda: some(chance.choice((2, 60))),
        "begin_suppress_tokens": lambda: some(60),
        "repetition_penalty": lambda: chance.choice((0.5, 1.0, 1.3, 5.0)),
        "encoder_repetition_penalty": lambda: chance.choice((0.5, 1.0, 2.0)),
        "sequence_bias": lambda: [
            [list(ids), chance.choice((-9.0, -1.5, 2.5, 9.0))] for ids in {tuple(some(3)) for _ in range(20)}
        ],
        "exponential_decay_length_penalty": lambda: [chance.choice((0, 2, 5)), chance.choice((1.05, 1.5, 0.7))],
        "remove_invalid_values": lambda: True,
        "renormalize_logits": lambda: True,
        "length_penalty": lambda: chance.choice((-1.0, 0.0, 0.5, 1.0, 2.0)),
        "early_stopping": lambda: chance.choice((True, False, "never")),
        "eos_token_id": lambda: chance.choice((one(), some(5))),
    }
    names = [name for name in fields if family != "whisper" or name not in NOT_OF_WHISPER]
    return {name: fields[name]() for name in chance.sample(names, chance.choice((1, 2, 3, 5)))}


def case(pairs: Pairs, seed: int) -> str:
    """One file of settings, one input. Returns what became of it. Raises Found."""
    chance = random.Random(seed)
    family, beams = chance.choice(FAMILIES), chance.choice(BEAMS)
    both = pairs[family]
    size = both.ours.decoder.config.vocab_size
    changed = settings_of(chance, family, size)
    text, n_tokens = both.text(chance.randrange(20), chance.randrange(3, 12)), chance.randrange(1, MOST + 1)
    what = f"case {seed} ({family}, {beams} beams, {n_tokens} tokens): {changed}"
    fields = {**both.theirs.generation_config.to_diff_dict(), **changed}
    try:
        with bounded(what):
            model = with_settings(both, fields)
            if isinstance(model, str):
                return model
            try:
                theirs = GenerationConfig(**fields)
            except ValueError:
                return "the reference refuses"
            reference = dataclasses.replace(both, ours=model)
            before, both.theirs.generation_config = both.theirs.generation_config, theirs
            try:
                return _compared(reference, text, n_tokens, beams, what)
            finally:
                both.theirs.generation_config = before
    except Found:
        raise
    except BaseException as error:
        raise Found(f"{what}: {type(error).__name__}: {error}") from error


def with_settings(both: Pair, fields: dict[str, Any]) -> Any:
    """Our model with these settings, or what is said about them."""
    decoder = both.ours.decoder
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / FILE).write_text(json.dumps(fields), encoding="utf-8")
        try:
            settings = read_settings(Path(place), Fields.of("config.json", {}), decoder.config)
            check_decoder(decoder.config, both.ours.encoder.config, settings)
        except EncoderError:
            return "refused"
    return dataclasses.replace(both.ours, decoder=dataclasses.replace(decoder, settings=settings))


def _compared(both: Pair, text: Any, n_tokens: int, beams: int, what: str) -> str:
    said = None
    try:
        both.ours.generate(text, n_tokens, beams=beams)
    except EncoderError as error:
        said = str(error)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if said is not None:
                quiet = dataclasses.replace(both, ours=_Silent(both.ours))
                _, theirs = generated(quiet, text, n_tokens, beams)
                if theirs and any(one != both.theirs.generation_config.pad_token_id for one in theirs):
                    raise Found(f"{what}: {said}, but the reference writes {theirs}")
                return "no output"
            ours, theirs = generated(both, text, n_tokens, beams)
    except (ValueError, IndexError, RuntimeError) as error:
        return f"the reference stops ({type(error).__name__})"
    end = both.ours.decoder.settings.end
    if both.case.kind == "Whisper":
        theirs = [one for one in theirs if one not in end]
    if ours != theirs:
        raise Found(f"{what}: {ours}, and the reference {theirs}")
    return "equal"


class _Silent:
    """Stands for a model without an output."""

    def __init__(self, ours: Any) -> None:
        self._ours = ours
        self.prompt, self.ids = self._prompt(), ()

    def _prompt(self) -> tuple[int, ...]:
        return self._ours.decoder.settings.start

    def generate(self, text: Any, *_: Any, **__: Any) -> _Silent:
        if not self._ours.decoder.reads:
            self.prompt = self._ours.tokenize(text).ids
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ours, name)

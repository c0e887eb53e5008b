"""generation_config.json, and what older checkpoints have of it in config.json -> GenerationSettings."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from encoder.checkpoints.checkpoint import LoadedWeights
from encoder.checkpoints.families import Fields
from encoder.encoders.named import NamedEncoder
from encoder.encoders.seq2seq import DETECTED, Decoder, GenerationSettings, Words, check_decoder
from encoder.errors import ConfigError, LoadError
from encoder.inputs.json_file import read_json
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import EncoderConfig

FILE = "generation_config.json"
#: Fields that change what is written and are not followed -> what to do.
UNFOLLOWED = {
    "guidance_scale": "specify 1, since no second pass without the input is computed",
    "watermarking_config": "remove it, since no watermark is written",
    "stop_strings": "remove it, and specify eos_token_id",
}
#: The largest factor by which the end of an output grows with each token.
MOST_DECAY = 100.0
Loaded = TypeVar("Loaded", bound=NamedEncoder)


def with_writer(
    model: Loaded, folder: Path, fields: Fields, read: LoadedWeights, tokenizer: Callable[[], Tokenizer]
) -> Loaded:
    """An encoder with the decoder of its checkpoint, where it has one; a note where its settings are wrong."""
    if read.decoder is None or read.lm_head is None:
        return model
    try:
        settings = read_settings(folder, fields, read.decoder.config)
        check_decoder(read.decoder.config, read.encoder.config, settings)
        decoder = Decoder(model.name, read.decoder, read.lm_head, tokenizer(), settings)
    except (LoadError, ConfigError) as error:
        said = f"The encoder is open without its decoder. {error}"
        return dataclasses.replace(model, notes=(*model.notes, said))
    return dataclasses.replace(model, decoder=decoder)


def read_settings(folder: Path, fields: Fields, config: EncoderConfig) -> GenerationSettings:
    """The settings of a folder. A field that generation_config.json has not, config.json may have."""
    own = read_json(folder / FILE) if (folder / FILE).is_file() else {}
    given = Fields.of(FILE, {**fields, **own})
    for key, why in UNFOLLOWED.items():
        if given.get(key) not in (None, False, 1, 1.0, []):
            raise given.wrong(key, given.get(key), why)
    known = range(config.vocab_size)  # a token that does not exist is never written
    end, never, never_first = (
        tuple(one for one in ids(given, key) if one in known)
        for key in ("eos_token_id", "suppress_tokens", "begin_suppress_tokens")
    )
    for key in ("forced_bos_token_id", "forced_eos_token_id"):
        if (held := ids(given, key)) and set(held) <= set(never):
            raise given.wrong(key, given.get(key), "remove it from suppress_tokens, which forbids what is forced")
    start: tuple[int, ...] = ()
    if config.memory_width:
        named = (given.get(key) for key in ("decoder_start_token_id", "bos_token_id", "pad_token_id"))
        start = (next((one for one in named if isinstance(one, int)), 0),)
    begin, languages = prompt(given) if config.memory_width else ((), ())
    stopping: Any = given.get("early_stopping") or False
    if stopping not in (True, False, "never"):
        raise given.wrong("early_stopping", stopping, "specify true, false or never")
    decay_from, decay = _decay(given)
    return GenerationSettings(
        start=start,
        begin=begin,
        languages=languages,
        end=end,
        first=forced(given, "forced_bos_token_id"),
        last=forced(given, "forced_eos_token_id"),
        never=never,
        never_first=never_first,
        no_repeat=given.unless_null("no_repeat_ngram_size", 0),
        no_repeat_source=given.unless_null("encoder_no_repeat_ngram_size", 0),
        # With min_new_tokens, also with 0, the reference does not read min_length.
        least=0 if given.get("min_new_tokens") is not None else given.unless_null("min_length", 0),
        least_new=given.unless_null("min_new_tokens", 0),
        bias=_bias(given, known),
        banned=tuple(
            one for one in _words(given, "bad_words_ids", known) if one.ids not in [(end_id,) for end_id in end]
        ),
        repeat_penalty=_penalty(given, "repetition_penalty"),
        source_penalty=_penalty(given, "encoder_repetition_penalty"),
        decay_from=decay_from,
        decay=decay,
        finite=given.get("remove_invalid_values") is True,
        renormalise=given.get("renormalize_logits") is True,
        length_penalty=1.0 if given.get("length_penalty") is None else given.number("length_penalty", 1.0, 100.0),
        early_stopping=stopping,
    )


def _penalty(fields: Fields, key: str) -> float:
    """A number above 0; 1 for null."""
    value = 1.0 if fields.get(key) is None else fields.number(key, 1.0)
    if value <= 0:
        raise fields.wrong(key, value, "specify a number above 0")
    return value


def _words(fields: Fields, key: str, known: range) -> list[Words]:
    """Lists of ids, of which the vocabulary has all."""
    value: Any = fields.get(key) or []
    if not isinstance(value, list) or not all(isinstance(one, list) and one and _are_ids(one) for one in value):
        raise fields.wrong(key, value, "specify lists of ids")
    return [Words(tuple(one)) for one in value if all(token in known for token in one)]


def _bias(fields: Fields, known: range) -> tuple[Words, ...]:
    """Lists of ids with a number each: [[[3, 4], -2.0], ...]. A list that comes again replaces the earlier one."""
    value: Any = fields.get("sequence_bias") or []
    pairs = isinstance(value, list) and all(isinstance(one, list) and len(one) == 2 for one in value)
    if not pairs or not all(
        isinstance(ids, list) and ids and _are_ids(ids) and isinstance(by, float) and math.isfinite(by)
        for ids, by in value
    ):
        raise fields.wrong("sequence_bias", value, "specify pairs of a list of ids and a number")
    found = {tuple(ids): by for ids, by in value}
    return tuple(Words(ids, by) for ids, by in found.items() if all(token in known for token in ids))


def _decay(fields: Fields) -> tuple[int | None, float]:
    """exponential_decay_length_penalty: after how many tokens, and the factor."""
    value: Any = fields.get("exponential_decay_length_penalty")
    if value is None:
        return None, 1.0
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not _are_ids(value[:1])
        or not isinstance(value[1], int | float)
        or isinstance(value[1], bool)
        or not 0 < value[1] <= MOST_DECAY
    ):
        raise fields.wrong("exponential_decay_length_penalty", value, "specify a number of tokens and a factor above 0")
    return value[0], float(value[1])


def _are_ids(value: list[Any]) -> bool:
    return all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in value)


def forced(fields: Fields, key: str) -> int | tuple[int, ...] | None:
    """One id, several, or None."""
    found = ids(fields, key)
    return None if not found else found[0] if len(found) == 1 else found


def ids(fields: Fields, key: str) -> tuple[int, ...]:
    """One id or several; none for null."""
    value: Any = fields.get(key)
    found = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in found):
        raise fields.wrong(key, value, "specify ids of tokens")
    return tuple(found)


def one_id(fields: Fields, key: str) -> int | None:
    """The first id, or None."""
    return next(iter(ids(fields, key)), None)


def prompt(fields: Fields) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Whisper's tokens after the start, and the languages among which one is found: forced_decoder_ids, the language
    where none is forced, and the token that asks for no times."""
    forced: Any = fields.get("forced_decoder_ids") or []
    if not isinstance(forced, list) or not all(isinstance(one, list) and len(one) == 2 for one in forced):
        raise fields.wrong("forced_decoder_ids", forced, "specify pairs of a place and an id")
    found = [token for place, (at, token) in enumerate(forced) if at == place + 1]
    known: Any = fields.get("lang_to_id") or {}
    if not isinstance(known, dict) or not all(isinstance(one, int) for one in known.values()):
        raise fields.wrong("lang_to_id", known, "specify an id for each language")
    if known and (not found or found[0] is None):
        found[:1] = [DETECTED]
    silent = one_id(fields, "no_timestamps_token_id")
    if silent is not None and found[-1:] != [silent]:
        found.append(silent)
    if not all(one is None or isinstance(one, int) for one in found):
        raise fields.wrong("forced_decoder_ids", forced, "specify ids of tokens")
    return tuple(one for one in found if one is not None), tuple(known.values())


def named(model: Any, name: str) -> dict[str, Any]:
    """The fields of a model under another name, its decoder's too."""
    decoder = getattr(model, "decoder", None)
    return {"name": name} | ({} if decoder is None else {"decoder": dataclasses.replace(decoder, name=name)})

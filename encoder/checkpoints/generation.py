"""generation_config.json, and what older checkpoints have of it in config.json -> GenerationSettings."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from encoder.checkpoints.checkpoint import LoadedWeights
from encoder.checkpoints.families import Fields
from encoder.encoders.named import NamedEncoder
from encoder.encoders.seq2seq import DETECTED, Decoder, GenerationSettings, check_decoder
from encoder.errors import ConfigError, LoadError
from encoder.inputs.json_file import read_json
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import EncoderConfig

FILE = "generation_config.json"
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
    known = range(config.vocab_size)  # a token that does not exist is never written
    end, never, never_first = (
        tuple(one for one in ids(given, key) if one in known)
        for key in ("eos_token_id", "suppress_tokens", "begin_suppress_tokens")
    )
    start: tuple[int, ...] = ()
    if config.memory_width:
        named = (given.get(key) for key in ("decoder_start_token_id", "bos_token_id", "pad_token_id"))
        start = (next((one for one in named if isinstance(one, int)), 0),)
    bad: Any = given.get("bad_words_ids") or []
    if not isinstance(bad, list) or not all(isinstance(words, list) for words in bad):
        raise given.wrong("bad_words_ids", bad, "specify lists of ids")
    single = tuple(words[0] for words in bad if len(words) == 1 and words[0] not in end and words[0] in known)
    begin, languages = prompt(given) if config.memory_width else ((), ())
    stopping: Any = given.get("early_stopping") or False
    if stopping not in (True, False, "never"):
        raise given.wrong("early_stopping", stopping, "specify true, false or never")
    return GenerationSettings(
        start=start,
        begin=begin,
        languages=languages,
        end=end,
        first=one_id(given, "forced_bos_token_id"),
        last=one_id(given, "forced_eos_token_id"),
        never=(*single, *never),
        never_first=never_first,
        no_repeat=given.unless_null("no_repeat_ngram_size", 0),
        least=given.unless_null("min_length", 0),
        length_penalty=1.0 if given.get("length_penalty") is None else given.number("length_penalty", 1.0, 100.0),
        early_stopping=stopping,
    )


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

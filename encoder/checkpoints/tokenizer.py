"""A checkpoint folder's tokenizer, as transformers 5 makes it: its class, its vocabulary, its settings.

The class is that of tokenizer_config.json, or else of config.json, or else of the model_type (`class_of`). A class of
`CLASSES` builds the tokenizer again from the vocabulary of tokenizer.json, or of the older files; others take
tokenizer.json as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoder.checkpoints.tokenizer_classes import AS_SAVED, CLASSES, Kind, TokenizerClass, as_saved, built
from encoder.checkpoints.tokenizer_names import FOLLOWS_MODEL, OF_MODELS, OTHERS
from encoder.checkpoints.tokenizer_settings import FILE, TokenizerSettings, read_tokenizer_settings, wrong
from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_text
from encoder.inputs.nodes import TagTable
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.boxes import Boxes
from encoder.model.config import MOST
from encoder.model.paths import MOST_STEPS, Paths

if TYPE_CHECKING:
    import tokenizers

SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model")
#: Files of a vocabulary before tokenizer.json.
FILES: dict[Kind, tuple[str, ...]] = {
    "WordPiece": ("vocab.txt",), "WordLevel": ("vocab.txt",), "BPE": ("vocab.json", "merges.txt"), "Unigram": (),
}  # fmt: skip
#: Texts on which the tokenizer of the class and tokenizer.json are compared.
PROBES = ("The Café, naïve 東京!", "  two  spaces\n and\ttabs", "isn't 3.14 e\u0301 ﬁ", "a")
#: Names of the parts of tokenizer.json in a note.
PARTS = ("normalizer", "pre_tokenizer", "post_processor")


@dataclass(frozen=True)
class ReadTokenizer:
    """A tokenizer, and sentences for people about its files."""

    tokenizer: Tokenizer
    notes: tuple[str, ...] = ()
    #: Whether the reference pads a batch before its texts.
    pads_left: bool = False


def read_tokenizer(
    folder: Path, fields: Mapping[str, Any], overrides: Mapping[str, Any] | None = None
) -> ReadTokenizer:
    """The folder's tokenizer. fields: config.json; overrides: settings that come before tokenizer_config.json's.

    Raises LoadError if there is none, or only one that needs another program.
    """
    path, overrides = folder / "tokenizer.json", overrides or {}
    if path.is_file():
        return _of_json(folder, Tokenizer.from_file(path), fields, overrides)
    return _of_older(folder, fields, overrides)


def _of_older(folder: Path, fields: Mapping[str, Any], overrides: Mapping[str, Any]) -> ReadTokenizer:
    """The tokenizer of a folder without tokenizer.json. Raises LoadError for one that needs another program."""
    settings = read_tokenizer_settings(folder, overrides, {})
    name = class_of(settings.values, fields)
    kind = CLASSES.get(name)
    pieces = [file for file in SENTENCEPIECE if (folder / file).is_file()]
    if pieces and (kind is None or not has_files(folder, kind)):
        raise LoadError(
            f"{folder.name} has its tokenizer only as {pieces[0]}, SentencePiece's format: open it with transformers' "
            "AutoTokenizer and the package sentencepiece, and write tokenizer.json by its backend_tokenizer.save(path)."
        )
    if not any((folder / file).is_file() for file in ("vocab.txt", "vocab.json")):
        raise LoadError(
            f"{folder.name} has no tokenizer.json (nor vocab.txt, nor vocab.json with merges.txt): copy it from the "
            "model that this one was trained from."
        )
    check_class(name, settings.values)
    assert kind is not None, "check_class has refused it"
    if not has_files(folder, kind):
        raise LoadError(
            f"{folder.name} has no tokenizer.json, and {' and '.join(FILES[kind.kind])} of its {name} are not there: "
            "copy it from the model that this one was trained from."
        )
    return ReadTokenizer(_of_files(folder, kind, settings), pads_left=settings.values.get("padding_side") == "left")


def class_of(settings: Mapping[str, Any], fields: Mapping[str, Any], *, bytes_only: bool = False) -> str:
    """The name of the tokenizer's class, without "Fast". bytes_only: whether tokenizer.json splits into bytes.

    As AutoTokenizer chooses it: a class that the files name comes before that of the model_type.
    """
    model = str(fields.get("model_type"))
    named = settings.get("tokenizer_class") or fields.get("tokenizer_class")
    if named is not None and not isinstance(named, str):
        raise wrong("tokenizer_class", named, "specify a name")
    name, usual = (named or "").removesuffix("Fast"), OF_MODELS.get(model)
    if name == "LlamaTokenizer" and bytes_only and model not in FOLLOWS_MODEL:
        return AS_SAVED[0]
    if not name:
        return usual or AS_SAVED[0]
    if usual is not None and name != usual and (usual in AS_SAVED or model in FOLLOWS_MODEL):
        return usual
    return AS_SAVED[0] if name in AS_SAVED or f"{name}Fast" in AS_SAVED else name


def check_class(name: str, settings: Mapping[str, Any]) -> None:
    """Raise LoadError for a tokenizer that is more than its vocabulary."""
    only_here = name == "BertJapaneseTokenizer" and settings.get("tokenizer_class") is not None
    if name not in CLASSES or only_here:
        raise LoadError(
            f"This checkpoint's tokenizer has tokenizer_class={quoted(name)}, which needs more than the vocabulary: "
            "copy a tokenizer.json from a checkpoint of the same vocabulary, or choose one."
        )
    if settings.get("do_basic_tokenize") is False:
        raise LoadError(
            f"This checkpoint's {FILE} has do_basic_tokenize=false, which transformers 5 no longer follows: remove it, "
            "or copy a tokenizer.json."
        )


def has_files(folder: Path, kind: TokenizerClass) -> bool:
    """Whether the folder has the older files of a class."""
    return bool(FILES[kind.kind]) and all((folder / file).is_file() for file in FILES[kind.kind])


# --- tokenizer.json --------------------------------------------------------------------------------------------------


def _of_json(folder: Path, saved: Tokenizer, fields: Mapping[str, Any], overrides: Mapping[str, Any]) -> ReadTokenizer:
    """The tokenizer of a folder with tokenizer.json, by its class."""
    settings = read_tokenizer_settings(folder, overrides, saved.backend.get_added_tokens_decoder())
    name = class_of(settings.values, fields, bytes_only=saved.byte_level)
    kind, vocabulary = CLASSES.get(name), type(saved.backend.model).__name__
    if kind is not None and kind.older and has_files(folder, kind):
        return _of_older(folder, fields, overrides)
    segments, pads_left = segments_of(settings, kind), settings.values.get("padding_side") == "left"
    if kind is None or kind.kind != vocabulary:
        notes = (*_note_on_class(name, kind, vocabulary), *_note_on_boxes(settings))
        kept = _finished(as_saved(saved.backend, settings), settings, segments, kind)
        return ReadTokenizer(kept, notes, pads_left)
    before, ids = _states(saved.backend), _probed(saved.backend)
    try:
        backend = built(kind, saved.backend, settings, whole=True)
        found = _finished(backend, settings, segments, kind)
        after = _probed(backend)
    except LoadError:
        raise
    except Exception as error:  # the library raises bare Exception
        raise LoadError(
            f"tokenizer.json in {folder.name} does not make a {name} ({quoted(str(error))}): name the class "
            f"PreTrainedTokenizerFast in {FILE}, or download it again."
        ) from error
    notes = _note_on_parts(name, before, _states(backend)) if ids != after else ()
    return ReadTokenizer(found, (*notes, *_note_on_boxes(settings)), pads_left)


def _note_on_boxes(settings: TokenizerSettings) -> tuple[str, ...]:
    """A sentence where the settings give special tokens boxes of their own."""
    usual = [0, 0, 0, 0]
    others = [name for name in ("cls_token_box", "sep_token_box") if settings.values.get(name, usual) != usual]
    if not others:
        return ()
    return (f"{FILE} has {' and '.join(others)}: here special tokens have the boxes of their family.",)


def segments_of(settings: TokenizerSettings, kind: TokenizerClass | None) -> bool:
    """Whether a pair of texts has two segments, as model_input_names or the class says."""
    names = settings.names("model_input_names")
    return (kind is not None and kind.segments) if names is None else "token_type_ids" in names


def _finished(
    backend: tokenizers.Tokenizer, settings: TokenizerSettings, segments: bool, kind: TokenizerClass | None
) -> Tokenizer:
    """Ours of a backend. Raises LoadError for a side that is not known."""
    side = settings.values.get("truncation_side", "right")
    if side not in ("left", "right"):
        raise wrong("truncation_side", side, "specify left or right")
    texts = {key: one if isinstance(one, str) else str(one.content) for key, one in settings.named.items()}
    tags = tag_table(settings) if kind is not None and kind.tree else None
    return Tokenizer(backend, texts, segmented=segments, cut_side=side, tags=tags)


def tag_table(settings: TokenizerSettings) -> TagTable:
    """The rows of tags and of their numbers. Raises LoadError for a table that is missing or of another form."""
    tags = settings.values.get("tags_dict")
    if not isinstance(tags, dict) or not all(type(row) is int and 0 <= row < MOST for row in tags.values()):
        raise wrong("tags_dict", tags, "specify an object with a row for each tag, as MarkupLMTokenizer needs")
    steps = settings.whole("max_depth", 50)
    if not 1 <= steps <= MOST_STEPS:
        raise wrong("max_depth", steps, f"specify a whole number from 1 to {MOST_STEPS:,}")
    return TagTable(tags, steps, settings.whole("max_width", 1000), settings.whole("pad_width", 1001))


def check_tags(tokenizer: Tokenizer, shape: Boxes | Paths | None) -> None:
    """Raise LoadError for a tokenizer whose paths have no rows in the model's tables."""
    tags = tokenizer.tags
    if tags is None:
        return
    if not isinstance(shape, Paths):
        raise LoadError("This tokenizer gives each word a path in a tree, and the model has no tables of tags.")
    rows, numbers = max(*tags.tags.values(), len(tags.tags) + 1), max(tags.largest, tags.no_number)
    wanted = {"max_depth": (tags.steps, shape.steps), "max_xpath_tag_unit_embeddings": (rows, shape.tags - 1),
              "max_xpath_subs_unit_embeddings": (numbers, shape.numbers - 1)}  # fmt: skip
    for name, (given, known) in wanted.items():
        if given > known or (name == "max_depth" and given != known):
            raise LoadError(f"{FILE} has paths with {given}, and {name} of config.json allows {known}: correct one.")
    if min(tags.largest, tags.no_number) < 0:
        raise LoadError(f"{FILE} has max_width={tags.largest} and pad_width={tags.no_number}: specify 0 or more.")


def _probed(backend: tokenizers.Tokenizer) -> list[list[int]]:
    """The ids of some texts."""
    return [backend.encode(text).ids for text in PROBES] + [backend.encode("a", "b").ids]


def _states(backend: tokenizers.Tokenizer) -> dict[str, str]:
    """The parts of a tokenizer but its vocabulary, as text."""
    return {name: repr(getattr(backend, name)) for name in PARTS}


def _note_on_parts(name: str, before: Any, after: dict[str, str]) -> tuple[str, ...]:
    """A sentence about the parts of tokenizer.json that the class does not use."""
    parts = [part for part in PARTS if before[part] != after[part]] or ["added_tokens"]
    return (
        f"{FILE} contradicts tokenizer.json in its {', '.join(parts)}. As in transformers 5, the class {name} and the "
        f"settings of {FILE} decide.",
    )


def _note_on_class(name: str, kind: TokenizerClass | None, vocabulary: str) -> tuple[str, ...]:
    """A sentence where transformers would make another tokenizer than tokenizer.json says."""
    if name in AS_SAVED or (kind is None and name not in OTHERS):
        return ()
    why = f"whose vocabulary is {kind.kind}, not {vocabulary}" if kind is not None else "which is not known here"
    return (
        f"The tokenizer_class is {name}, {why}. This program follows tokenizer.json; transformers may split texts "
        "differently.",
    )


# --- older files -----------------------------------------------------------------------------------------------------


def _of_files(folder: Path, kind: TokenizerClass, settings: TokenizerSettings) -> Tokenizer:
    """A tokenizer from vocabulary files. Raises LoadError for files that do not fit together."""
    try:
        source = SOURCES[kind.kind](folder)
        missing = {
            name: token
            for name, default in kind.special.items()
            if name not in OPTIONAL
            and (token := _text(settings.named.get(name, default))) is not None
            and source.token_to_id(token) is None
            and token not in _added(settings)
        }
        for name, token in missing.items():
            raise LoadError(f"The vocabulary of {folder.name} lacks its {name} {quoted(token)}: download it again.")
        backend = built(kind, source, settings, whole=False)
    except LoadError:
        raise
    except Exception as error:  # the library raises bare Exception
        raise LoadError(
            f"The vocabulary of {folder.name} does not make a tokenizer ({error}): download it again."
        ) from error
    for token_id, added in settings.added.items():
        if backend.token_to_id(str(added.content)) != token_id:
            raise LoadError(
                f"{folder.name} gives the added token {quoted(str(added.content))} the id {token_id}, which does "
                "not follow its vocabulary: correct the id."
            )
    found = _finished(backend, settings, segments_of(settings, kind), kind)
    defaults = {name: token for name, token in kind.special.items() if token is not None}
    return found.naming(defaults)


#: Special tokens that a vocabulary may lack: no text gets them.
OPTIONAL = ("bos_token", "eos_token")


def _text(token: Any) -> str | None:
    return token if token is None or isinstance(token, str) else str(token.content)


def _added(settings: TokenizerSettings) -> set[str]:
    return {str(token.content) for token in settings.added.values()}


def _word_pieces(folder: Path) -> tokenizers.Tokenizer:
    """vocab.txt: one word piece in each line; the line's number from 0 is its id."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    return Backend(models.WordPiece(_lines(folder)))


def _words(folder: Path) -> tokenizers.Tokenizer:
    """vocab.txt: one token in each line, without the space around it."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    words = {word.strip(): index for word, index in _lines(folder).items()}
    return Backend(models.WordLevel(words, unk_token="<unk>"))


def _lines(folder: Path) -> dict[str, int]:
    """The lines of vocab.txt with their numbers from 0."""
    lines = read_text(folder / "vocab.txt").split("\n")
    if lines[-1] == "":
        lines.pop()
    return {line.rstrip("\r"): index for index, line in enumerate(lines)}


def _byte_pairs(folder: Path) -> tokenizers.Tokenizer:
    """vocab.json and merges.txt."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    return Backend(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))


#: What reads the older files of a kind of vocabulary.
SOURCES: dict[Kind, Callable[[Path], Any]] = {"WordPiece": _word_pieces, "WordLevel": _words, "BPE": _byte_pairs}

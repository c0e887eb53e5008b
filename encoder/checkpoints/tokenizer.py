"""A checkpoint folder's tokenizer: tokenizer.json, or the older files with the same content."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoder.errors import LoadError
from encoder.inputs.json_file import parse_json, read_json, read_special_tokens, read_text
from encoder.inputs.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model")
#: The classes that the older files describe. Others (Japanese BERT's) split words in a way that is not in the files.
WORD_PIECE_CLASSES = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer")
BYTE_BPE_CLASSES = ("RobertaTokenizer",)
CLIP_CLASSES, CLIP_MODELS = ("CLIPTokenizer",), ("clip", "clip_text_model")

BERT_SPECIAL = {
    "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]",
}  # fmt: skip
ROBERTA_SPECIAL = {
    "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>",
}  # fmt: skip
CLIP_SPECIAL = {
    "unk_token": "<|endoftext|>", "bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>",
    "pad_token": "<|endoftext|>",
}  # fmt: skip
#: What CLIP splits a text into, before byte pairs: words, digits, and runs of other characters.
CLIP_PARTS = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
MPNET_SPECIAL = ROBERTA_SPECIAL | {"unk_token": "[UNK]"}


def read_tokenizer(folder: Path, model_type: str) -> Tokenizer:
    """The folder's tokenizer. Raises LoadError if there is none, or only one that needs another program."""
    if (folder / "tokenizer.json").is_file():
        return Tokenizer.from_file(folder / "tokenizer.json")
    if (folder / "vocab.txt").is_file():
        return built(folder, word_piece, MPNET_SPECIAL if model_type == "mpnet" else BERT_SPECIAL)
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        if model_type in CLIP_MODELS:
            return built(folder, clip_bpe, CLIP_SPECIAL)
        return built(folder, byte_level_bpe, ROBERTA_SPECIAL)
    pieces = [name for name in SENTENCEPIECE if (folder / name).is_file()]
    if pieces:
        raise LoadError(
            f"{folder.name} has its tokenizer only as {pieces[0]}, SentencePiece's format: write tokenizer.json with "
            "save_pretrained of transformers' AutoTokenizer."
        )
    raise LoadError(
        f"{folder.name} has no tokenizer.json (nor vocab.txt, nor vocab.json with merges.txt): write it with the "
        "tokenizer's save_pretrained."
    )


def built(folder: Path, build: Any, defaults: dict[str, str]) -> Tokenizer:
    """A tokenizer from vocabulary files. Raises LoadError for files that do not fit together."""
    path = folder / "tokenizer_config.json"
    settings = read_json(path) if path.is_file() else {}
    special = defaults | read_special_tokens(folder)
    try:
        backend = build(folder, settings, special)
    except LoadError:
        raise
    except Exception as error:  # the library raises bare Exception
        raise LoadError(
            f"The vocabulary of {folder.name} does not make a tokenizer ({error}): download it again."
        ) from error
    return Tokenizer(backend, special)


def check_class(settings: dict[str, Any], known: tuple[str, ...]) -> None:
    """Raise LoadError for a tokenizer that is more than its vocabulary."""
    name = settings.get("tokenizer_class")
    if name is not None and str(name).removesuffix("Fast") not in known:
        raise LoadError(
            f"This checkpoint's tokenizer_config.json has tokenizer_class={name!r}, which needs more than the "
            "vocabulary: write tokenizer.json with the tokenizer's save_pretrained."
        )
    if settings.get("do_basic_tokenize") is False:
        raise LoadError(
            "This checkpoint's tokenizer_config.json has do_basic_tokenize=false: write tokenizer.json with "
            "save_pretrained."
        )


def word_piece(folder: Path, settings: dict[str, Any], special: dict[str, str]) -> tokenizers.Tokenizer:
    """BERT's tokenizer from vocab.txt: one word piece in each line; the line's number from 0 is its id."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    check_class(settings, WORD_PIECE_CLASSES)
    lines = read_text(folder / "vocab.txt").split("\n")
    if lines[-1] == "":
        lines.pop()
    vocabulary = {piece.rstrip("\r"): index for index, piece in enumerate(lines)}
    backend = Backend(models.WordPiece(vocabulary, unk_token=special["unk_token"], max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
        strip_accents=settings.get("strip_accents"),
        lowercase=bool(settings.get("do_lower_case", True)),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    like_roberta = special["cls_token"] == ROBERTA_SPECIAL["cls_token"]  # MPNet
    add_special(backend, folder, settings, special, mask_eats_space=like_roberta)
    cls, sep = (with_id(backend, special[key]) for key in ("cls_token", "sep_token"))
    if like_roberta:
        backend.post_processor = processors.RobertaProcessing(sep, cls, trim_offsets=True, add_prefix_space=False)
    else:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{cls[0]}:0 $A:0 {sep[0]}:0",
            pair=f"{cls[0]}:0 $A:0 {sep[0]}:0 $B:1 {sep[0]}:1",
            special_tokens=[cls, sep],
        )
    return backend


def byte_level_bpe(folder: Path, settings: dict[str, Any], special: dict[str, str]) -> tokenizers.Tokenizer:
    """RoBERTa's tokenizer from vocab.json and merges.txt."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers, processors

    check_class(settings, BYTE_BPE_CLASSES)
    prefix_space = bool(settings.get("add_prefix_space", False))
    trim = bool(settings.get("trim_offsets", True))
    backend = Backend(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    backend.decoder = decoders.ByteLevel()
    add_special(backend, folder, settings, special, mask_eats_space=True)
    cls, sep = (with_id(backend, special[key]) for key in ("cls_token", "sep_token"))
    backend.post_processor = processors.RobertaProcessing(sep, cls, trim_offsets=trim, add_prefix_space=prefix_space)
    return backend


def clip_bpe(folder: Path, settings: dict[str, Any], special: dict[str, str]) -> tokenizers.Tokenizer:
    """CLIP's tokenizer from vocab.json and merges.txt: lower case, byte pairs that mark the ends of words by "</w>"."""
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors
    from tokenizers import Tokenizer as Backend

    check_class(settings, CLIP_CLASSES)
    files = str(folder / "vocab.json"), str(folder / "merges.txt")
    marks = {"continuing_subword_prefix": "", "end_of_word_suffix": "</w>"}
    backend = Backend(models.BPE.from_file(*files, unk_token=special["unk_token"], **marks))
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    split = pre_tokenizers.Split(Regex(CLIP_PARTS), behavior="removed", invert=True)
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    backend.decoder = decoders.ByteLevel()
    add_special(backend, folder, settings, special, mask_eats_space=False, keys=tuple(CLIP_SPECIAL))
    start, end = (with_id(backend, special[key]) for key in ("bos_token", "eos_token"))
    backend.post_processor = processors.RobertaProcessing(end, start, trim_offsets=False, add_prefix_space=False)
    return backend


def with_id(backend: tokenizers.Tokenizer, token: str) -> tuple[str, int]:
    """A token of the vocabulary, and its id."""
    token_id = backend.token_to_id(token)
    assert token_id is not None, "add_special has checked it"
    return token, token_id


def add_special(
    backend: tokenizers.Tokenizer,
    folder: Path,
    settings: dict[str, Any],
    special: dict[str, str],
    mask_eats_space: bool,
    keys: tuple[str, ...] = tuple(BERT_SPECIAL),
) -> None:
    """Mark the special tokens, and add those that follow the vocabulary, each with its id.

    Raises LoadError for a special token that is not in the vocabulary, and for added ids that do not follow it.
    """
    from tokenizers import AddedToken

    for token, token_id in sorted(added_tokens(folder, settings).items(), key=lambda entry: entry[1]):
        if backend.token_to_id(token) is None and backend.get_vocab_size() == token_id:
            backend.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        if backend.token_to_id(token) != token_id:
            raise LoadError(
                f"{folder.name} gives the added token {token!r} the id {token_id}, which does not follow its "
                "vocabulary: write tokenizer.json with save_pretrained."
            )
    for key in keys:
        token = special[key]
        if backend.token_to_id(token) is None:
            raise LoadError(f"The vocabulary of {folder.name} lacks its {key} {token!r}: download it again.")
        eats_space = mask_eats_space and key == "mask_token"
        backend.add_special_tokens([AddedToken(token, lstrip=eats_space, special=True, normalized=False)])


def added_tokens(folder: Path, settings: dict[str, Any]) -> dict[str, int]:
    """Tokens that were added to the vocabulary, with their ids."""
    found: dict[str, int] = {}
    path = folder / "added_tokens.json"
    if path.is_file():
        entries = parse_json(path)
        found |= {str(token): int(token_id) for token, token_id in entries.items()} if isinstance(entries, dict) else {}
    for token_id, entry in (settings.get("added_tokens_decoder") or {}).items():
        found[entry["content"] if isinstance(entry, dict) else str(entry)] = int(token_id)
    return found

"""What each class of transformers 5 makes of a vocabulary: how a text is changed and split, and what goes around it.

These classes build their tokenizer from the vocabulary and from settings. Of tokenizer.json they use the vocabulary,
the added tokens and, where they have none of their own, the special tokens around a text. Each function below says what
one class does; `CLASSES` has their names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from encoder.checkpoints.tokenizer_settings import TokenizerSettings, wrong

if TYPE_CHECKING:
    import tokenizers

Kind = Literal["WordPiece", "WordLevel", "BPE", "Unigram"]
#: The table of SentencePiece that replaces characters, a part of tokenizer.json.
Charsmap = Any

BERT = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
SPM = {"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>", "unk_token": "<unk>",
       "pad_token": "<pad>", "mask_token": "<mask>"}  # fmt: skip
ENDS = {"bos_token": "[CLS]", "eos_token": "[SEP]"}
GPT = {"unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
GEMMA = {"unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "mask_token": "<mask>"}
ESM = {"unk_token": "<unk>", "cls_token": "<cls>", "pad_token": "<pad>", "mask_token": "<mask>", "eos_token": "<eos>"}
#: What CLIP splits a text into, before byte pairs: words, digits, and runs of other characters.
CLIP_PARTS = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
#: What Qwen splits a text into: words with the space before them, single digits, runs of other characters.
QWEN_PARTS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class TokenizerClass:
    """One class."""

    #: Of its vocabulary.
    kind: Kind
    #: Its special tokens where the settings name none; None for none.
    special: Mapping[str, str | None]
    #: Sets the normaliser, the splitting and the decoder of a new tokenizer.
    splits: Callable[[tokenizers.Tokenizer, TokenizerSettings, Charsmap], None]
    #: Sets what goes around a text; None where tokenizer.json or the settings say it.
    ends: Callable[[tokenizers.Tokenizer, Mapping[str, str], TokenizerSettings], None] | None = None
    #: Settings of the vocabulary.
    model: Mapping[str, Any] = field(default_factory=dict)
    #: The id of the unknown piece (Unigram), unless `unknown_by_name` and the vocabulary has unk_token.
    unknown_id: int = 0
    unknown_by_name: bool = False
    #: Whether `ends` counts only where tokenizer.json puts tokens around a text, too.
    only_instead: bool = False
    #: Whether a pair has two segments.
    segments: bool = False
    #: Whether the mask token takes the space before it.
    eats_space: bool = False
    #: Whether it uses the older files of its vocabulary even next to tokenizer.json.
    older: bool = False
    #: Whether it tokenizes node by node, with the path of each (tags_dict).
    tree: bool = False
    #: More special tokens.
    extra: tuple[str, ...] = ()


def built(kind: TokenizerClass, source: tokenizers.Tokenizer, settings: TokenizerSettings, *, whole: bool) -> Any:
    """The tokenizer that a class makes. source: the one of tokenizer.json, or of a vocabulary only (whole=False).

    Raises LoadError for settings of another form, and Exception (of the library) for a vocabulary that does not fit.
    """
    from tokenizers import Tokenizer

    # A special token that the settings leave out is the class's; one that they set to null is none.
    usual = {name: None if name in settings.values else default for name, default in kind.special.items()}
    named = {name: settings.named.get(name, default) for name, default in usual.items()}
    named |= {name: token for name, token in settings.named.items() if name not in named}
    texts = {name: text_of(token) for name, token in named.items() if token is not None}
    backend = Tokenizer(_model(kind, source, texts))
    kind.splits(backend, settings, _charsmap(source))
    _add(backend, settings, kind, named)
    if kind.ends is not None and not (kind.only_instead and whole and source.post_processor is None):
        kind.ends(backend, texts, settings)
    elif whole and source.post_processor is not None:
        backend.post_processor = source.post_processor
    else:
        around(backend, settings, texts, whole=whole)
    backend.encode_special_tokens = bool(settings.flag("split_special_tokens", False))
    return backend


def as_saved(source: tokenizers.Tokenizer, settings: TokenizerSettings) -> Any:
    """The tokenizer of tokenizer.json with the added and special tokens of the settings: TokenizersBackend's."""
    known = {repr(token) for token in source.get_added_tokens_decoder().values()}
    _add(source, settings, None, settings.named, known)
    if source.post_processor is None:
        around(source, settings, {name: text_of(token) for name, token in settings.named.items()}, whole=True)
    source.encode_special_tokens = bool(settings.flag("split_special_tokens", False))
    return source


def text_of(token: Any) -> str:
    """The text of a special token."""
    return token if isinstance(token, str) else str(token.content)


def around(
    backend: tokenizers.Tokenizer, settings: TokenizerSettings, texts: Mapping[str, str], *, whole: bool
) -> None:
    """What goes around a text by add_bos_token and add_eos_token, which count without tokenizer.json only."""
    first, last = (
        texts.get(f"{one}_token") if not whole and settings.flag(f"add_{one}_token", False) else None
        for one in ("bos", "eos")
    )
    before, after = (f"{first}:{{0}} " if first else ""), (f" {last}:{{0}}" if last else "")
    single = f"{before.format(0)}$A:0{after.format(0)}"
    template(
        backend, single, f"{single} {before.format(1)}$B:1{after.format(1)}", [one for one in (first, last) if one]
    )


def template(backend: tokenizers.Tokenizer, single: str, pair: str, tokens: list[str]) -> None:
    """Put these tokens around each text."""
    from tokenizers import processors

    with_ids = [(token, backend.token_to_id(token)) for token in dict.fromkeys(tokens)]
    backend.post_processor = processors.TemplateProcessing(
        single=single.split(), pair=pair.split(), special_tokens=with_ids
    )


def _model(kind: TokenizerClass, source: tokenizers.Tokenizer, texts: Mapping[str, str]) -> Any:
    """The vocabulary with the settings of the class."""
    from tokenizers import Tokenizer, models

    found = source.model
    if type(found).__name__ == "WordPiece":
        found.unk_token, found.max_input_chars_per_word, found.continuing_subword_prefix = texts["unk_token"], 100, "##"
    elif type(found).__name__ == "WordLevel":
        found.unk_token = texts["unk_token"]
    elif type(found).__name__ == "BPE":
        usual: dict[str, Any]
        usual = {"unk_token": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "dropout": None}
        usual |= {"continuing_subword_prefix": None, "end_of_word_suffix": None} | dict(kind.model)
        wanted = {name: texts["unk_token"] if value == "unk_token" else value for name, value in usual.items()}
        if any((getattr(found, name) or None) != (value or None) for name, value in wanted.items()):
            found = Tokenizer.from_str(source.to_str()).model  # it remembers how it split words before
            for name, value in wanted.items():
                setattr(found, name, value)
    else:
        named = found.token_to_id(texts["unk_token"]) if kind.unknown_by_name else None
        unknown = kind.unknown_id if named is None else named
        if [token.id for token in found.tokenize("\U000e0378")] != [unknown]:
            pieces = json.loads(source.to_str())["model"]["vocab"]
            found = models.Unigram([(piece, score) for piece, score in pieces], unknown, False)
    return found


def _charsmap(source: tokenizers.Tokenizer) -> Charsmap:
    """SentencePiece's table of characters in a normaliser, or None."""
    from tokenizers import normalizers

    whole: Any = source.normalizer
    parts: list[Any] = list(whole) if type(whole).__name__ == "Sequence" else [whole]
    return next((part for part in parts if isinstance(part, normalizers.Precompiled)), None)


def _add(
    backend: tokenizers.Tokenizer,
    settings: TokenizerSettings,
    kind: TokenizerClass | None,
    named: Mapping[str, Any],
    known: set[str] = frozenset(),  # type: ignore[assignment]
) -> None:
    """Add the added tokens, by their ids, and the special tokens that are not among them."""
    from tokenizers import AddedToken

    ordered = [token for _, token in sorted(settings.added.items())]
    tokens = [token for token in ordered if repr(token) not in known]
    there = {text_of(token) for token in (*ordered, *backend.get_added_tokens_decoder().values())}
    extra = settings.extra or (() if kind is None else kind.extra)
    names = {text_of(token) for token in named.values() if token is not None}
    for name, token in [*named.items(), *(("", one) for one in extra)]:
        if token is None or text_of(token) in there:
            continue
        if isinstance(token, str):
            eats = kind is not None and kind.eats_space and name == "mask_token"
            token = AddedToken(token, special=True, lstrip=eats)
        there.add(text_of(token))
        tokens.append(token)
    for token in tokens:
        if not token.special and text_of(token) in names:
            token.special = True
    backend.add_tokens(tokens)


# --- word pieces -----------------------------------------------------------------------------------------------------


def words(handles_chinese: bool | None = None) -> Callable[[Any, TokenizerSettings, Charsmap], None]:
    """BERT's splitting. handles_chinese: None: as tokenize_chinese_chars says."""

    def splits(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
        from tokenizers import decoders, normalizers, pre_tokenizers

        chinese = settings.flag("tokenize_chinese_chars", True) if handles_chinese is None else handles_chinese
        backend.normalizer = normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=bool(chinese),
            strip_accents=settings.flag("strip_accents", None),
            lowercase=bool(settings.flag("do_lower_case", True)),
        )
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece(prefix="##")

    return splits


def japanese(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
    """BertJapaneseTokenizer with basic words, which are BERT's without a split at each character.

    Raises LoadError for words that need a dictionary (MeCab, Sudachi, Juman++).
    """
    from tokenizers import Regex, decoders, normalizers, pre_tokenizers

    known = {"word_tokenizer_type": ("basic",), "subword_tokenizer_type": ("wordpiece", "character")}
    for name, values in known.items():
        value = settings.values.get(name, values[0])
        if value not in values:
            raise wrong(name, value, "its tokenizer_class needs a dictionary; write tokenizer.json in another program")
    for name, usual in (("never_split", None), ("do_word_tokenize", True), ("do_subword_tokenize", True)):
        if settings.values.get(name, usual) != usual:
            raise wrong(name, settings.values[name], "choose a checkpoint without it")
    by_letter = settings.values.get("subword_tokenizer_type") == "character"
    lower = bool(settings.flag("do_lower_case", False))
    usual_text = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, lowercase=lower)
    steps = [normalizers.NFC(), usual_text, *([normalizers.NFKC()] if by_letter else [])]
    backend.normalizer = normalizers.Sequence(steps)
    split = [pre_tokenizers.Split(Regex("."), behavior="isolated")] if by_letter else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), *split])
    backend.decoder = decoders.WordPiece(prefix="##")


def bert_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """[CLS] text [SEP], in a pair [CLS] first [SEP] second [SEP] with two segments."""
    cls, sep = texts["cls_token"], texts["sep_token"]
    template(backend, f"{cls}:0 $A:0 {sep}:0", f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1", [cls, sep])


def roberta_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """<s> text </s>, in a pair <s> first </s> </s> second </s>."""
    from tokenizers import processors

    cls, sep = ((texts[name], backend.token_to_id(texts[name])) for name in ("cls_token", "sep_token"))
    trims, space = settings.flag("trim_offsets", True), settings.flag("add_prefix_space", False)
    backend.post_processor = processors.RobertaProcessing(
        sep, cls, trim_offsets=bool(trims), add_prefix_space=bool(space)
    )


def residues(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
    """ESM's splitting: at white space. `residue_ends` adds the tokens of the vocabulary, which then need no space."""
    from tokenizers import pre_tokenizers

    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()


def residue_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """<cls> text <eos>, in a pair <cls> first <eos> second <eos>."""
    from tokenizers import AddedToken

    there = {text_of(token) for token in backend.get_added_tokens_decoder().values()}
    letters = sorted(backend.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])
    backend.add_tokens([AddedToken(letter, normalized=False) for letter, _ in letters if letter not in there])
    cls, end = texts["cls_token"], texts.get("eos_token")
    after = f" {end}" if end else ""
    template(backend, f"{cls} $A{after}", f"{cls} $A{after} $B{after}", [cls, *([end] if end else [])])


# --- byte pairs ------------------------------------------------------------------------------------------------------


def byte_level(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
    """GPT-2's splitting."""
    from tokenizers import decoders, pre_tokenizers

    space = bool(settings.flag("add_prefix_space", False))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space)
    backend.decoder = decoders.ByteLevel()


def spaced(settings: TokenizerSettings) -> TokenizerSettings:
    """The settings with a space before the first word, unless they say otherwise."""
    return replace(settings, values={"add_prefix_space": True, **settings.values})


def composed_byte_level(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
    """GPT-NeoX's: the same on composed characters."""
    from tokenizers import normalizers

    byte_level(backend, settings, charsmap)
    backend.normalizer = normalizers.NFC()


def qwen(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
    """Qwen's splitting."""
    from tokenizers import Regex, decoders, normalizers, pre_tokenizers

    space = bool(settings.flag("add_prefix_space", None))
    backend.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(QWEN_PARTS), behavior="isolated", invert=False)
    letters = pre_tokenizers.ByteLevel(add_prefix_space=space, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, letters])
    backend.decoder = decoders.ByteLevel()


def clip(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
    """CLIP's splitting: lower case, byte pairs that mark the ends of words by "</w>"."""
    from tokenizers import Regex, decoders, normalizers, pre_tokenizers

    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    split = pre_tokenizers.Split(Regex(CLIP_PARTS), behavior="removed", invert=True)
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    backend.decoder = decoders.ByteLevel()


def clip_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """<|startoftext|> text <|endoftext|>."""
    from tokenizers import processors

    first, last = ((texts[name], backend.token_to_id(texts[name])) for name in ("bos_token", "eos_token"))
    backend.post_processor = processors.RobertaProcessing(last, first, trim_offsets=False, add_prefix_space=False)


def deberta_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """[CLS] text [SEP], in a pair [CLS] first [SEP] [SEP] second [SEP]."""
    cls, sep = texts["cls_token"], texts["sep_token"]
    template(backend, f"{cls} $A {sep}", f"{cls} $A {sep} {sep} $B {sep}", [cls, sep])


def no_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """The text only."""
    around(backend, settings, texts, whole=True)


def spaces_as_marks(*, lower: bool = False) -> Callable[[Any, TokenizerSettings, Charsmap], None]:
    """Gemma's splitting: spaces are marks, and letters without a place are bytes."""

    def splits(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
        from tokenizers import decoders, normalizers, pre_tokenizers

        marks = normalizers.Replace(" ", "▁")
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), marks]) if lower else marks
        backend.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous", invert=False)
        backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])

    return splits


def llama(backend: Any, settings: TokenizerSettings, charsmap: Charsmap) -> None:
    """Llama's splitting."""
    from tokenizers import decoders, pre_tokenizers

    space = settings.flag("add_prefix_space", None) is not False
    scheme = "never" if not space else "always" if settings.flag("legacy", False) else "first"
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence([*steps, *([decoders.Strip(content=" ", left=1)] if space else [])])


# --- SentencePiece ---------------------------------------------------------------------------------------------------


def pieces(
    normalise: Callable[[TokenizerSettings], list[Any]] = lambda settings: [],
    *,
    splits_space: bool = True,
    without: str = "never",
    steady: bool = False,
    charsmap: bool = True,
) -> Callable[[Any, TokenizerSettings, Charsmap], None]:
    """SentencePiece's splitting: "▁" before each word.

    normalise: what comes before the table of characters; splits_space: whether white space splits first; without: where
    the mark is without add_prefix_space; steady: whether this setting is not read; charsmap: whether the table is used.
    """

    def splits(backend: Any, settings: TokenizerSettings, table: Charsmap) -> None:
        from tokenizers import decoders, normalizers, pre_tokenizers

        steps = [*normalise(settings), *([table] if charsmap and table is not None else [])]
        if steps:
            backend.normalizer = steps[0] if len(steps) == 1 else normalizers.Sequence(steps)
        scheme = "always" if steady or settings.flag("add_prefix_space", True) else without
        mark = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme)
        first: list[Any] = [pre_tokenizers.WhitespaceSplit()] if splits_space else []
        if without == "first" and settings.flag("split_by_punct", False):
            first = [pre_tokenizers.Punctuation(behavior="isolated")]
        backend.pre_tokenizer = pre_tokenizers.Sequence([*first, mark]) if first else mark
        backend.decoder = decoders.Metaspace(replacement="▁", prepend_scheme=scheme)

    return splits


def accents(lower: bool, keep: bool, quotes: bool = True, double: bool = False) -> Callable[[TokenizerSettings], Any]:
    """ALBERT's and RemBERT's characters. lower, keep: the defaults of do_lower_case and keep_accents."""

    def steps(settings: TokenizerSettings) -> list[Any]:
        from tokenizers import Regex, normalizers

        found: list[Any] = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
        if double:
            found.append(normalizers.Replace(Regex(" {2,}"), " "))
        if not settings.flag("keep_accents", keep):
            found += [normalizers.NFKD(), normalizers.StripAccents()]
        return [*found, normalizers.Lowercase()] if settings.flag("do_lower_case", lower) else found

    return steps


def one_space(lower: bool) -> Callable[[TokenizerSettings], Any]:
    """DeBERTa v3's characters: composed, with one space between words."""

    def steps(settings: TokenizerSettings) -> list[Any]:
        from tokenizers import Regex, normalizers

        first = [normalizers.Lowercase()] if settings.flag("do_lower_case", lower) else []
        spaces = normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " ")
        return [*first, spaces, normalizers.NFC(), normalizers.Strip(left=False, right=True)]

    return steps


def big_bird_spaces(settings: TokenizerSettings) -> list[Any]:
    """BigBird's characters."""
    from tokenizers import Regex, normalizers

    return [
        normalizers.Sequence([normalizers.Strip(left=False, right=False), normalizers.Replace(Regex(r" {2,}"), "▁")])
    ]


def sentence_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """XLM-RoBERTa's: <s> text </s>, in a pair <s> first </s> </s> second </s>."""
    first, last = texts["bos_token"], texts["eos_token"]
    template(backend, f"{first} $A {last}", f"{first} $A {last} {last} $B {last}", [first, last])


def albert_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """ALBERT's names of these tokens are fixed, and their ids are those of cls_token and sep_token."""
    from tokenizers import processors

    ids = [("[CLS]", backend.token_to_id(texts["cls_token"])), ("[SEP]", backend.token_to_id(texts["sep_token"]))]
    single, pair = "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)


def two_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """MarkupLM's: <s> text </s>, in a pair <s> first </s> second </s>."""
    cls, sep = texts["cls_token"], texts["sep_token"]
    template(backend, f"{cls} $A {sep}", f"{cls} $A {sep} $B {sep}", [cls, sep])


def t5_ends(backend: Any, texts: Mapping[str, str], settings: TokenizerSettings) -> None:
    """Text </s>, in a pair first </s> second </s>."""
    from tokenizers import processors

    ids = [("</s>", backend.token_to_id(texts["eos_token"]))]
    single, pair = ["$A", "</s>"], ["$A", "</s>", "$B", "</s>"]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)


_BERT = TokenizerClass("WordPiece", BERT, words(), bert_ends, segments=True)
_DISTILBERT = TokenizerClass("WordPiece", BERT, words(), bert_ends)
_JAPANESE = TokenizerClass("WordPiece", BERT, japanese, bert_ends)
_BYTES = {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
_ROBERTA = TokenizerClass("BPE", SPM, byte_level, roberta_ends, _BYTES)
#: RoBERTa's, in which the first word of a text has a space before it, too.
_LAYOUTLMV3 = TokenizerClass(
    "BPE",
    SPM,
    lambda backend, settings, charsmap: byte_level(backend, spaced(settings), charsmap),
    lambda backend, texts, settings: roberta_ends(backend, texts, spaced(settings)),
    _BYTES,
)
_GEMMA = {"unk_token": "unk_token", "fuse_unk": True, "byte_fallback": True}
CLASSES: dict[str, TokenizerClass] = {
    **dict.fromkeys(("BertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
                     "SqueezeBertTokenizer", "DPRQuestionEncoderTokenizer", "DPRContextEncoderTokenizer"), _BERT),
    "DistilBertTokenizer": _DISTILBERT,
    "BertJapaneseTokenizer": _JAPANESE,
    "MPNetTokenizer": TokenizerClass(
        "WordPiece", SPM | {"unk_token": "[UNK]"}, words(), lambda backend, texts, settings: roberta_ends(
            backend, texts, TokenizerSettings()), eats_space=True,
    ),
    "EsmTokenizer": TokenizerClass("WordLevel", ESM, residues, residue_ends, older=True),
    **dict.fromkeys(("RobertaTokenizer", "LongformerTokenizer", "LEDTokenizer", "BartTokenizer"), _ROBERTA),
    "LayoutLMv3Tokenizer": _LAYOUTLMV3,
    "MarkupLMTokenizer": TokenizerClass(
        "BPE", SPM, byte_level, two_ends, _BYTES, eats_space=True, segments=True, tree=True
    ),
    "DebertaTokenizer": TokenizerClass("BPE", ENDS | BERT, byte_level, deberta_ends, _BYTES, segments=True),
    "GPT2Tokenizer": TokenizerClass("BPE", GPT | {"pad_token": None}, byte_level, None, _BYTES),
    "GPTNeoXTokenizer": TokenizerClass("BPE", GPT | {"pad_token": "<|padding|>"}, composed_byte_level, no_ends, _BYTES),
    "Qwen2Tokenizer": TokenizerClass(
        "BPE", {"unk_token": "<|endoftext|>", "bos_token": None, "eos_token": "<|endoftext|>",
                "pad_token": "<|endoftext|>"}, qwen, None, _BYTES,
    ),
    "CLIPTokenizer": TokenizerClass(
        "BPE", {"unk_token": "<|endoftext|>", "bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>",
                "pad_token": "<|endoftext|>"}, clip, clip_ends,
        {"continuing_subword_prefix": "", "end_of_word_suffix": "</w>", "unk_token": "unk_token"},
    ),
    "GemmaTokenizer": TokenizerClass("BPE", GEMMA, spaces_as_marks(), None, _GEMMA),
    "Siglip2Tokenizer": TokenizerClass("BPE", GEMMA, spaces_as_marks(lower=True), None, _GEMMA),
    "LlamaTokenizer": TokenizerClass(
        "BPE", {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}, llama, None,
        {"fuse_unk": True, "byte_fallback": True},
    ),
    "XLMRobertaTokenizer": TokenizerClass("Unigram", SPM, pieces(), sentence_ends, unknown_id=3),
    "CamembertTokenizer": TokenizerClass(
        "Unigram", SPM, pieces(), sentence_ends, eats_space=True, unknown_by_name=True,
        extra=("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"),
    ),
    "AlbertTokenizer": TokenizerClass(
        "Unigram", ENDS | BERT | {"unk_token": "<unk>", "pad_token": "<pad>"},
        pieces(accents(lower=True, keep=False)), albert_ends, unknown_id=1,
    ),
    "RemBertTokenizer": TokenizerClass(
        "Unigram", ENDS | BERT | {"unk_token": "<unk>", "pad_token": "<pad>"},
        pieces(accents(lower=False, keep=True, double=True), splits_space=False), bert_ends, unknown_id=2,
        only_instead=True,
    ),
    "DebertaV2Tokenizer": TokenizerClass(
        "Unigram", ENDS | BERT, pieces(one_space(lower=False), splits_space=False, without="first", charsmap=False),
        bert_ends, segments=True, unknown_id=1, unknown_by_name=True,
    ),
    "BigBirdTokenizer": TokenizerClass(
        "Unigram", SPM | {"sep_token": "[SEP]", "mask_token": "[MASK]", "cls_token": "[CLS]"},
        pieces(big_bird_spaces, splits_space=False, charsmap=False), bert_ends, eats_space=True,
        unknown_id=100, unknown_by_name=True,
    ),
    "T5Tokenizer": TokenizerClass(
        "Unigram", {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}, pieces(steady=True), t5_ends,
        unknown_id=2, extra=tuple(f"<extra_id_{index}>" for index in range(100)),
    ),
}  # fmt: skip
#: Classes that keep tokenizer.json as it is.
AS_SAVED = ("TokenizersBackend", "PreTrainedTokenizerFast", "PreTrainedTokenizer", "PythonBackend", "BloomTokenizer")

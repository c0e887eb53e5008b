"""What a checkpoint's folder leads other programs into: files that contradict each other, and settings easily missed.

A check is a function of the folder's files that yields findings, and one line in `CHECKS`. What this program does with
a folder is said by `model.notes`, from the reader of folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from encoder.checkpoints import load
from encoder.checkpoints.bundled import BUNDLED, bundled_folder
from encoder.checkpoints.sentence_settings import NO_LIMIT
from encoder.checkpoints.tokenizer import read_tokenizer
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, LoadError
from encoder.inputs.json_file import parse_json, read_text
from encoder.inputs.tokenizer import Tokenizer
from encoder.trace import gradual

#: "contradiction": two files say different things; "easily missed": a setting that some programs do not read.
Level = Literal["contradiction", "easily missed"]
#: Architectures whose positions begin at padding_idx + 1.
OFFSET_TYPES = ("roberta", "xlm-roberta", "camembert", "mpnet", "xmod", "roberta-prelayernorm", "esm")
#: Prompts that cards name.
CARD_PROMPTS = ("query: ", "passage: ", "search_query: ", "search_document: ", "Represent this sentence")
#: Characters of a card that are read.
CARD = 200_000
#: Types of decoders that are trained again as encoders.
DECODERS = ("qwen2", "qwen3", "mistral", "llama", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "phi3")


@dataclass(frozen=True)
class Finding:
    """One finding: where it is, what the files say, who reads which, and what to do."""

    level: Level
    name: str
    file: str
    key: str
    values: tuple[str, ...]
    said: str
    remedy: str

    def about(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {**vars(self), "values": list(self.values)}


@dataclass(frozen=True)
class Check:
    """What is found in a folder. notes: sentences of this program's own reader; trouble: why it cannot open it."""

    folder: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def contradictions(self) -> tuple[Finding, ...]:
        """The findings of which one program follows this key, another that."""
        return tuple(one for one in self.findings if one.level == "contradiction")

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return int(bool(self.contradictions or self.trouble))

    @property
    def said(self) -> str:
        """What is found, in one line."""
        wrong, missed = len(self.contradictions), len(self.findings) - len(self.contradictions)
        agree = "." if self.trouble else ": the files agree."
        if not self.findings:
            return f"Nothing found{agree}"
        counted = f"Contradictions: {wrong}." if wrong else f"No contradictions{agree}"
        return f"{counted} Easily missed by other programs: {missed}." if missed else counted

    def about(self) -> dict[str, Any]:
        """The check as JSON."""
        findings = [one.about() for one in self.findings]
        return {"folder": self.folder, "findings": findings, "notes": list(self.notes), "trouble": self.trouble}


class Files:
    """The small files of a folder, read once each."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        modules = self.json("modules.json")
        self.modules = [one for one in modules if isinstance(one, dict)] if isinstance(modules, list) else []
        first = next((str(one.get("path", "")) for one in self.modules), "")
        inner = folder / first
        self.folder = inner if first and ".." not in first and inner.is_dir() else folder

    def json(self, name: str, folder: Path | None = None) -> Any:
        """The content of a file; {} without one, or with one that is not JSON."""
        path = (folder or self.root) / name
        try:
            return parse_json(path) if path.is_file() else {}
        except LoadError:
            return {}

    def object(self, name: str, folder: Path | None = None) -> dict[str, Any]:
        """The object in a file of the encoder's folder; {} without one."""
        found = self.json(name, folder or self.folder)
        return found if isinstance(found, dict) else {}

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json."""
        return self.object("config.json")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """tokenizer_config.json."""
        return self.object("tokenizer_config.json")

    @cached_property
    def tokenizer_json(self) -> dict[str, Any]:
        """tokenizer.json."""
        return self.object("tokenizer.json")

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer that tokenizer.json describes by itself; None for a folder without one that opens."""
        path = self.folder / "tokenizer.json"
        try:
            return Tokenizer.from_file(path) if path.is_file() else None
        except EncoderError:
            return None

    @cached_property
    def tokenizer_notes(self) -> tuple[str, ...]:
        """Where tokenizer_config.json and tokenizer.json contradict each other, as the reader of folders says."""
        try:
            return read_tokenizer(self.folder, self.config).notes
        except EncoderError:
            return ()

    @cached_property
    def sentence(self) -> tuple[str, dict[str, Any]]:
        """sentence_bert_config.json, and where it is."""
        for folder in (self.folder, self.root):
            if found := self.object("sentence_bert_config.json", folder):
                return "sentence_bert_config.json", found
        return "", {}

    def kinds(self) -> list[str]:
        """The kinds of modules.json, in order."""
        return [str(one.get("type", "")).rsplit(".", 1)[-1] for one in self.modules]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The config.json of each module of a kind, with its path."""
        found = []
        for name, one in zip(self.kinds(), self.modules, strict=True):
            path = str(one.get("path", ""))
            if name == kind and path and ".." not in path:
                found.append({"path": path, **self.object("config.json", self.root / path)})
        return found

    @property
    def pooling(self) -> str:
        """The name of the pooling in 1_Pooling/config.json, of either form; "" without one."""
        for fields in self.of_kind("Pooling"):
            mode = fields.get("pooling_mode")
            if mode is not None:
                return str(mode)
            older = [name for name, value in fields.items() if name.startswith("pooling_mode_") and value is True]
            return older[0].removeprefix("pooling_mode_") if older else ""
        return ""

    @property
    def positions(self) -> int | None:
        """The longest input that config.json allows."""
        found = self.config.get("max_position_embeddings", self.config.get("n_positions"))
        if type(found) is not int:
            return None
        return found - 2 if self.config.get("model_type") in OFFSET_TYPES else found


def lengths_of(source: str | Path | None) -> tuple[int, ...]:
    """The lengths at which a folder's files cut texts, or pad them; none of a model without a folder."""
    folder = folder_of(source)
    if folder is None:
        return ()
    files = Files(folder)
    truncation, padding = files.tokenizer_json.get("truncation"), files.tokenizer_json.get("padding")
    found = [truncation.get("max_length")] if isinstance(truncation, dict) else []
    if isinstance(padding, dict) and isinstance(padding.get("strategy"), dict):
        found.append(padding["strategy"].get("Fixed"))
    found += [files.sentence[1].get("max_seq_length"), files.settings.get("model_max_length"), files.positions]
    return tuple(dict.fromkeys(one for one in found if type(one) is int and 0 < one < NO_LIMIT))


def folder_of(source: str | Path | None) -> Path | None:
    """The folder of a model by its name; None for a Hub id that is not a folder."""
    if source is None:
        return None
    if str(source) in BUNDLED:
        return bundled_folder(str(source))
    path = Path(source).expanduser()
    return path if path.is_dir() else None


def iter_check(source: str | Path) -> Generator[float, None, Check]:
    """What other programs may do wrong with a folder. Raises LoadError where it is not one.

    The generator gives the share of the checks that are done; the last of them opens the model.
    """
    folder = folder_of(source)
    if folder is None:
        raise LoadError(f"No folder {str(source)[:200]}: specify a folder with config.json, or a bundled model.")
    files = Files(folder)
    findings: list[Finding] = []
    for done, one in enumerate(CHECKS):
        yield done / (len(CHECKS) + 1)
        findings += one(files)
    yield len(CHECKS) / (len(CHECKS) + 1)
    notes: tuple[str, ...] = ()
    trouble = ""
    try:
        model = load(folder, device="cpu")
        notes = tuple(note for tower in model.towers.values() for note in tower.notes)
    except EncoderError as error:
        trouble = str(error)
    order = {"contradiction": 0, "easily missed": 1}
    return Check(str(source), tuple(sorted(findings, key=lambda one: order[one.level])), notes, trouble)


check = gradual.at_once(iter_check, "check")


# --- the checks -----------------------------------------------------------------------------------------------------


def _special_tokens(files: Files) -> Iterator[Finding]:
    tokenizer = files.tokenizer
    if tokenizer is None:
        return
    row = tokenizer.encode("a")
    for key, kinds, place, where in (
        ("add_eos_token", ("eos_token", "sep_token"), -1, "after"),
        ("add_bos_token", ("bos_token", "cls_token"), 0, "before"),
    ):
        wanted = files.settings.get(key)
        named = next((tokenizer.special[kind] for kind in kinds if kind in tokenizer.special), None)
        if not isinstance(wanted, bool) or named is None:
            continue
        adds = row.special[place] and row.ids[place] == tokenizer.backend.token_to_id(named)
        if wanted is not adds:
            does = "adds" if adds else "does not add"
            yield Finding(
                "contradiction",
                "special-token",
                "tokenizer_config.json",
                key,
                (f"{key}: {str(wanted).lower()}", f"tokenizer.json {does} {named} {where} a text"),
                f"{key} is {str(wanted).lower()}, and the post-processor of tokenizer.json {does} {named}. "
                "transformers 4 "
                f"follows the first, transformers 5 and this program the second"
                + (
                    ": last-token pooling then takes the text's own last token."
                    if key == "add_eos_token" and wanted and "last" in files.pooling
                    else "."
                ),
                "Read the model's card for the one that is right, and correct the post-processor of tokenizer.json.",
            )
    if files.pooling.startswith("last") and not row.special[-1] and files.settings.get("add_eos_token") is None:
        yield Finding(
            "easily missed",
            "eos-missing",
            "tokenizer.json",
            "post_processor",
            (f"pooling: {files.pooling}", "no special token after a text"),
            "The pooling takes the last token, and tokenizer.json adds none, so it takes the text's own last token. "
            "An earlier revision of the tokenizer, or a converted file, may add EOS or leave it out.",
            "Compare the ids of one text in both programs, the last one above all.",
        )


def _declared_lengths(files: Files) -> Iterator[Finding]:
    truncation, padding = files.tokenizer_json.get("truncation"), files.tokenizer_json.get("padding")
    file, sentence = files.sentence
    own = sentence.get("max_seq_length")
    limit = own if type(own) is int else files.settings.get("model_max_length")
    if isinstance(truncation, dict) and truncation.get("max_length") != limit:
        yield Finding(
            "easily missed",
            "truncation",
            "tokenizer.json",
            "truncation.max_length",
            (str(truncation.get("max_length")), f"{file or 'tokenizer_config.json'}: {limit}"),
            f"tokenizer.json cuts texts at {truncation.get('max_length')} tokens, and sentence-transformers "
            f"at {limit}. "
            "Programs that load tokenizer.json by itself (Rust, DuckDB, JavaScript) follow the first.",
            "Call no_truncation() and cut at the second, or set truncation to null.",
        )
    if isinstance(padding, dict) and isinstance(padding.get("strategy"), dict):
        fixed = padding["strategy"].get("Fixed")
        yield Finding(
            "easily missed",
            "fixed-padding",
            "tokenizer.json",
            "padding.strategy",
            (f"Fixed: {fixed}",),
            f"tokenizer.json pads every text to {fixed} tokens. Programs that load tokenizer.json by itself do so, and "
            "where they pass no mask, padding enters attention and the pooling.",
            "Call no_padding(), or pass attention_mask; or set padding to null.",
        )
    if type(own) is int and files.positions is not None and own > files.positions:
        yield Finding(
            "contradiction",
            "max_seq_length",
            file,
            "max_seq_length",
            (str(own), f"config.json allows {files.positions}"),
            f"{file} allows {own} tokens, and the table of positions in config.json has {files.positions}: "
            "longer texts fail "
            "or are cut elsewhere.",
            f"Set max_seq_length to {files.positions} or less.",
        )
    most = files.settings.get("model_max_length")
    if type(own) is int and type(most) is int and most < own:
        yield Finding(
            "contradiction",
            "max_seq_length",
            file,
            "max_seq_length",
            (str(own), f"model_max_length: {most}"),
            f"{file} cuts texts at {own} tokens, and tokenizer_config.json at {most}, which is less. "
            "sentence-transformers follows the first, AutoTokenizer the second.",
            "Set both to the same number.",
        )


def _pooling_form(files: Files) -> Iterator[Finding]:
    for fields in files.of_kind("Pooling"):
        older = sorted(name for name, value in fields.items() if name.startswith("pooling_mode_") and value is True)
        mode, file = fields.get("pooling_mode"), f"{fields['path']}/config.json"
        if mode is not None and not older:
            yield Finding(
                "easily missed",
                "pooling-form",
                file,
                "pooling_mode",
                (str(mode),),
                f"The pooling {mode!r} is in the form of sentence-transformers 5.4 and newer. Readers that know only "
                "pooling_mode_mean_tokens and its like fall back to the default of the architecture.",
                f"Add the older key for {mode!r} (set to true), or update the other program.",
            )
        elif mode is not None and older and not any(str(mode).split("_")[0] in name for name in older):
            yield Finding(
                "contradiction",
                "pooling-form",
                file,
                "pooling_mode",
                (str(mode), ", ".join(older)),
                f"pooling_mode is {mode!r}, and {', '.join(older)} is true: newer readers follow the first, older ones "
                "the second.",
                "Make both the same.",
            )


def _modules_after(files: Files) -> Iterator[Finding]:
    dense = files.of_kind("Dense")
    if dense:
        width = dense[-1].get("out_features")
        hidden = files.config.get("hidden_size")
        yield Finding(
            "easily missed",
            "dense",
            "modules.json",
            ", ".join(one["path"] for one in dense),
            (f"width with it: {width}", f"without: {hidden}"),
            f"{len(dense)} Dense module{'s' * (len(dense) > 1)} after the pooling {'are' if len(dense) > 1 else 'is'} "
            f"never read by AutoModel, by most converters (GGUF, ONNX) and by some servers: vectors then have {hidden} "
            f"numbers, not {width}, or are others.",
            "Apply the weights of each Dense folder to the pooled vector, in the order of modules.json.",
        )


def _prompts(files: Files) -> Iterator[Finding]:
    fields = files.object("config_sentence_transformers.json", files.root)
    prompts, default = fields.get("prompts"), fields.get("default_prompt_name")
    named = {name: text for name, text in prompts.items() if text} if isinstance(prompts, dict) else {}
    if named and default in named:
        yield Finding(
            "easily missed",
            "prompt",
            "config_sentence_transformers.json",
            "default_prompt_name",
            (repr(named[default]),),
            f"sentence-transformers puts {named[default]!r} before every text. Other programs do not, unless you do.",
            "Put it before each text yourself, once.",
        )
    elif named:
        listed = ", ".join(f"{name}: {text!r}" for name, text in list(named.items())[:4])
        yield Finding(
            "easily missed",
            "prompt",
            "config_sentence_transformers.json",
            "prompts",
            (listed,),
            f"The model has prompts ({listed}) and uses none by default. Vectors of queries and documents without "
            "theirs are worse, and differ from the card's.",
            "Pass prompt_name, or put the prompt before each text yourself.",
        )
    else:
        card = files.root / "README.md"
        try:
            text = read_text(card)[:CARD] if card.is_file() else ""
        except LoadError:
            text = ""
        if found := [prompt for prompt in CARD_PROMPTS if re.search(rf"[\"'`]{re.escape(prompt)}", text)]:
            yield Finding(
                "easily missed",
                "prompt",
                "README.md",
                "prompts",
                tuple(found),
                f"The card names the prompts {', '.join(map(repr, found))}, and no file that a program reads does.",
                "Put the prompt before each text yourself, or add prompts to config_sentence_transformers.json.",
            )


def _directions(files: Files) -> Iterator[Finding]:
    kind, causal = files.config.get("model_type"), files.config.get("is_causal")
    both = files.config.get("use_bidirectional_attention")
    if kind in DECODERS and (causal is False or both):
        yield Finding(
            "easily missed",
            "bidirectional",
            "config.json",
            "is_causal" if causal is False else "use_bidirectional_attention",
            (str(causal if causal is False else both),),
            f"This {kind} attends in both directions. A program that uses the causal class of the architecture gives "
            "other vectors.",
            "Use a class or version that reads this key, and pin the revision: it was changed later in some models.",
        )
    if files.settings.get("padding_side") == "left" and files.pooling.startswith("last"):
        yield Finding(
            "easily missed",
            "padding-side",
            "tokenizer_config.json",
            "padding_side",
            ("left", f"pooling: {files.pooling}"),
            "Batches are padded on the left, and the pooling takes the last token. At sum(attention_mask) - 1 of such "
            "a row is another token, or padding; a text by itself is right.",
            "Take the last column, or pad on the right.",
        )


def _onnx_files(files: Files) -> Iterator[Finding]:
    found = sorted(path.relative_to(files.root).as_posix() for path in files.root.glob("**/*.onnx"))[:20]
    coarse = [name for name in found if re.search(r"quant|int8|uint8|q4|bnb4|fp16|qint", name.lower())]
    if coarse and len(found) > 1:
        yield Finding(
            "easily missed",
            "onnx-files",
            coarse[0],
            "",
            tuple(found),
            f"The folder has {len(found)} ONNX files, of which {', '.join(coarse[:4])} "
            f"{'are' if len(coarse) > 1 else 'is'} rounded. Some programs choose such a file without a word.",
            "Name the file in the other program: model.onnx.",
        )


def _number_type(files: Files) -> Iterator[Finding]:
    key = "dtype" if files.config.get("dtype") else "torch_dtype"
    declared = str(files.config.get(key) or "").removeprefix("torch.")
    if declared in ("float16", "bfloat16"):
        yield Finding(
            "easily missed",
            "number-type",
            "config.json",
            key,
            (declared,),
            f"config.json declares {declared}. transformers 5 computes in it, transformers 4 in float32 unless told "
            "otherwise: vectors differ in the third or fourth digit.",
            "State dtype in both programs.",
        )


def _tokenizer_class(files: Files) -> Iterator[Finding]:
    for note in files.tokenizer_notes:
        yield Finding(
            "contradiction",
            "tokenizer",
            "tokenizer_config.json",
            "",
            ("tokenizer.json",),
            note,
            "Load tokenizer.json (tokenizers.Tokenizer.from_file), and correct tokenizer_config.json.",
        )
    name = files.settings.get("tokenizer_class")
    if files.settings and not name and (files.folder / "tokenizer.json").is_file():
        yield Finding(
            "easily missed",
            "tokenizer-class",
            "tokenizer_config.json",
            "tokenizer_class",
            ("none",),
            "No tokenizer class is named: transformers chooses one by config.json, and versions choose different ones.",
            "Save the tokenizer again, so that it names its class, or load tokenizer.json.",
        )
    mark = next(
        (
            one
            for one in _parts(files.tokenizer_json.get("pre_tokenizer"))
            if one.get("type") in ("ByteLevel", "Metaspace")
        ),
        None,
    )
    wanted = files.settings.get("add_prefix_space")
    if mark is not None and isinstance(wanted, bool):
        has = mark.get("add_prefix_space") if mark["type"] == "ByteLevel" else mark.get("prepend_scheme") != "never"
        if bool(has) is not wanted:
            yield Finding(
                "contradiction",
                "word-markers",
                "tokenizer_config.json",
                "add_prefix_space",
                (str(wanted).lower(), f"tokenizer.json: {str(bool(has)).lower()}"),
                "add_prefix_space contradicts the pre-tokenizer of tokenizer.json: some versions of "
                "transformers rebuild "
                "it from tokenizer_config.json, and the first word loses or gains its mark.",
                "Make both the same.",
            )


def _parts(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict):
        yield content
        for one in content.get("pretokenizers") or []:
            yield from _parts(one)


def _positions(files: Files) -> Iterator[Finding]:
    kind = files.config.get("model_type")
    if kind in OFFSET_TYPES:
        yield Finding(
            "easily missed",
            "position-offset",
            "config.json",
            "model_type",
            (str(kind),),
            "Positions of this family begin at padding_idx + 1, not at 0. Programs that pack batches, and own ports, "
            "silently give other vectors.",
            "Compute position_ids from padding_idx, as the model's class does.",
        )
    windows = files.config.get("sliding_window", files.config.get("local_attention"))
    layers = files.config.get("layer_types") or files.config.get("global_attn_every_n_layers")
    if windows and layers:
        yield Finding(
            "easily missed",
            "window",
            "config.json",
            "layer_types",
            (str(windows),),
            "Some layers attend to a window and others to everything, and their rotary bases may differ. One mask and "
            "one base for all layers give other vectors of long texts.",
            "Compare a text longer than the window.",
        )


def _matryoshka(files: Files) -> Iterator[Finding]:
    fields = files.object("config_sentence_transformers.json", files.root)
    if type(fields.get("truncate_dim")) is int:
        yield Finding(
            "easily missed",
            "matryoshka",
            "config_sentence_transformers.json",
            "truncate_dim",
            (str(fields["truncate_dim"]),),
            "Vectors are cut to their first numbers. A program that cuts after scaling to norm 1 gives vectors shorter "
            "than 1.",
            "Cut first, then scale to norm 1; or compare by cosine.",
        )


CHECKS: tuple[Callable[[Files], Iterator[Finding]], ...] = (
    _special_tokens, _declared_lengths, _pooling_form, _modules_after, _prompts, _directions, _onnx_files, _number_type,
    _tokenizer_class, _positions, _matryoshka,
)  # fmt: skip


def text_encoder(model: object) -> TextEncoder:
    """The encoder of texts of what `load` opens. Raises EncoderError for a model without one."""
    towers: Mapping[str, Any] = getattr(model, "towers", {})
    found = towers.get("text")
    if not isinstance(found, TextEncoder):
        raise EncoderError("This model accepts no text: choose a text model.")
    return found


def signal_encoder(model: object) -> SignalEncoder:
    """The encoder of images or sounds of what `load` opens. Raises EncoderError for a model without one."""
    towers: Mapping[str, Any] = getattr(model, "towers", {})
    found = next((tower for tower in towers.values() if isinstance(tower, ImageEncoder | AudioEncoder)), None)
    if found is None:
        raise EncoderError("This model accepts no images or sounds: choose one such as CLIP, DINOv2 or Whisper.")
    return found

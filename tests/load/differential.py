"""A changed folder, opened by the reference and by us: equal, a note that names the key, or a refusal."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import encoder
from encoder.errors import EncoderError
from tests.load import folders, forms

#: Words that the vocabulary has, pieces, accents, Chinese, two spaces, special tokens, more tokens than some limits.
TEXTS = [
    "the Cat sat on the mat . a dog ran", "Hello  world", "café, the [MASK] cats !", "中文 The", "a", "isn't it 3.14?",
]  # fmt: skip
PAIR = ("the cat", "a dog sat")
#: Keys that belong to a part: a note about the part names the key, too.
PARTS = {
    "tokenizer_config.json": ("tokenizer_config.json", "tokenizer_class"),
    "special_tokens_map.json": ("tokenizer.json",),
    "tokenizer.json": ("tokenizer.json",), "added_tokens.json": ("tokenizer.json",),
}  # fmt: skip


class Silent(AssertionError):
    """Another model than the reference's, which nothing says."""


@dataclass(frozen=True)
class Reading:
    """What a reader makes of a folder: ids of texts, ids and segments of a pair, and vectors or outputs."""

    ids: list[list[int]]
    pair: tuple[list[int], list[int]]
    vectors: list[torch.Tensor]
    notes: tuple[str, ...] = ()

    def same(self, other: Reading) -> str:
        """The first difference, "" for none."""
        if self.ids != other.ids:
            return "other ids"
        if self.pair != other.pair:
            return "another pair"
        for mine, theirs in zip(self.vectors, other.vectors, strict=True):
            if mine.shape != theirs.shape:
                return f"vectors of {tuple(mine.shape)} and {tuple(theirs.shape)}"
            size = max(1.0, float(theirs.nan_to_num().abs().max())) if theirs.numel() else 1.0
            if not torch.allclose(mine, theirs, atol=1e-5 * size, rtol=1e-5, equal_nan=True):
                return f"vectors that differ by {(mine - theirs).abs().max():.2g}"
        return ""


def of_ours(folder: Path, form: str = "") -> Reading:
    """Our reading. form: of `forms.FORMS`. Raises EncoderError."""
    if form in forms.FORMS:
        found, notes = forms.ours(form, folder)
        return Reading([], ([], []), found, notes)
    model: Any = encoder.load(folder, device="cpu")
    tokens = [model.tokenize(text) for text in TEXTS]
    pair, is_sentence = model.tokenize(*PAIR), (folder / "modules.json").is_file()
    if (folder / "modules.json").is_file():
        found = list(model.embed(TEXTS).float())
    else:
        found = [model.trace(text).output.float() for text in TEXTS[:3]]
    limit = model.max_embed_tokens
    shown = [model.tokenize(text, max_tokens=limit) for text in TEXTS] if limit else tokens
    both: Any = ([], []) if is_sentence else (list(pair.ids), list(pair.segments))
    return Reading([list(one.ids) for one in shown], both, found, tuple(model.notes))


def of_theirs(folder: Path, form: str = "") -> Reading | None:
    """The reference's; None where it refuses the folder, or fills it with random numbers."""
    try:
        with warnings.catch_warnings(action="ignore"), contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
            if form in forms.FORMS:
                return Reading([], ([], []), forms.theirs(form, folder))
            return _theirs(folder)
    except (Exception, SystemExit):
        return None


def _theirs(folder: Path) -> Reading | None:
    import transformers

    if (folder / "adapter_config.json").is_file():
        with tempfile.TemporaryDirectory() as place:
            return None if (merged := _merged(folder, Path(place) / "merged")) is None else _theirs(merged)
    if (folder / "modules.json").is_file():
        import sentence_transformers

        model: Any = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
        tokenizer, first = model.tokenizer, model[0]
        if any(bool(torch.isnan(value).any()) for value in first.auto_model.state_dict().values()):
            return None
        if not set(first.auto_model.state_dict()) <= _stored(folder) | {"pooler.dense.weight", "pooler.dense.bias"}:
            return None
        given = [first.preprocess([text]) for text in TEXTS]
        ids = [one["input_ids"][0][one["attention_mask"][0].bool()].tolist() for one in given]
        vectors = list(model.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False).float())
        return Reading(ids, ([], []), vectors)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    loaded: Any = transformers.AutoModel.from_pretrained(folder, output_loading_info=True)
    model, about = loaded
    if any(about[key] for key in ("missing_keys", "mismatched_keys")):
        return None
    ids = [tokenizer(text)["input_ids"] for text in TEXTS]
    given = [tokenizer(text, return_tensors="pt") for text in TEXTS[:3]]
    vectors = [model.float().eval()(**one).last_hidden_state[0].float() for one in given]
    pair = tokenizer(*PAIR)
    segments = pair.get("token_type_ids", [0] * len(pair["input_ids"]))
    return Reading(ids, (pair["input_ids"], segments), vectors)


def _merged(folder: Path, to: Path) -> Path | None:
    """The folder with its adapter in its weights, by PEFT's formula; None for another kind."""
    from tests.load import test_peft

    settings = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    if settings["peft_type"] != "LORA":
        return None
    whole = 1 / (settings["r"] ** 0.5 if settings.get("use_rslora") else settings["r"])
    patterns = settings.get("alpha_pattern") or {}

    def change(weight: torch.Tensor, tensors: dict[str, torch.Tensor], place: str) -> torch.Tensor:
        alpha = next((value for end, value in patterns.items() if place.endswith(end)), settings["lora_alpha"])
        return test_peft.plain(whole * alpha)(weight, tensors, place)

    test_peft.merged(folder, to, change)
    return to


def _stored(folder: Path) -> set[str]:
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", framework="pt") as file:
        return {name.removeprefix("bert.") for name in file.keys()}  # noqa: SIM118


def outcome(folder: Path, changed: Mapping[Any, Any], before: tuple[str, ...], form: str = "") -> str:
    """One changed folder: "equal", "noted", "refused" or "refused there". Raises Silent.

    changed: (file, key) of each change; before: the notes of the folder without changes; form: of `forms.FORMS`.
    """
    try:
        ours = of_ours(folder, form)
    except EncoderError:
        return "refused"
    theirs = of_theirs(folder, form)
    if theirs is None:
        return "refused there"
    difference = ours.same(theirs)
    if not difference:
        return "equal"
    new = [note for note in ours.notes if note not in before]
    for file, key in changed:
        if any(word in note for note in new for word in (key.rsplit(".", 1)[-1], *PARTS.get(file, ()))):
            return "noted"
    raise Silent(f"{difference}, and no note about {', '.join(f'{file}: {key}' for file, key in changed)} ({new})")


def change(folder: Path, file: str, key: str, value: Any) -> None:
    """Set a key of a file, which may be missing; REMOVED takes it away."""
    path = folder / file
    if file == "modules.json":
        modules = json.loads(path.read_text(encoding="utf-8"))
        modules[-1 if isinstance(value, tuple) else 0][key] = value[0] if isinstance(value, tuple) else value
        folders.put(path, modules)
        return
    fields = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if value is REMOVED:
        fields.pop(key, None)
    else:
        fields[key] = value
        if key == "modality_config":
            fields.setdefault("module_output_name", "token_embeddings")
    folders.put(path, fields)


#: In the place of a value: the key is removed.
REMOVED = object()


def write_originals(folder: Path) -> dict[str, Path]:
    """A plain checkpoint, one of sentence-transformers, one with an adapter next to its weights, one of RoBERTa, and
    those of forms.FORMS."""
    from tests.load.test_peft import adapter

    words = [*folders.VOCAB, "中", "文", "'", "isn", "t", "it", "3", "14", "ca", "##fé", "##t"]
    found = {"plain": folder / "plain", "sentence": folder / "sentence", "adapter": folder / "adapter"}
    folders.bert(found["plain"], vocabulary=words)
    folders.sentence_bert(found["sentence"], vocabulary=words)
    folders.bert(found["adapter"], vocabulary=words)
    adapter(found["adapter"], base_model_name_or_path=str(found["adapter"]))
    found["roberta"] = write_roberta(folder / "roberta")
    return found | forms.write(folder, words)


def write_roberta(folder: Path) -> Path:
    """A small RoBERTa with byte pairs."""
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    from tests.load.test_tokenizers import CORPUS

    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator([*CORPUS, *TEXTS], vocab_size=330, min_frequency=1, special_tokens=special)
    sizes = {"vocab_size": trained.get_vocab_size(), "max_position_embeddings": 66, "pad_token_id": 1}
    folders.made("RobertaModel", transformers.RobertaConfig(**sizes, **folders.SIZES), folder)
    trained.save_model(str(folder))
    transformers.RobertaTokenizer(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt")).save_pretrained(
        folder
    )
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    return folder

"""Small checkpoints with a real vocabulary, as the references write them, and what they make of a folder again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from tests.load import reference

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCAB = [*SPECIAL, *"the cat sat on mat a dog ran ##s ##ing hello world , . ! ? The Cat T café cafe".split()]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
TEXT = "the Cat sat on the mat . a dog ran"
TEXTS = [TEXT, "Hello world", "café, the [MASK] cats !"]


def put(path: Path, content: Any) -> None:
    """Write a text, or JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def edit(path: Path, **fields: Any) -> None:
    """Change fields of a JSON object, which may be missing; None stays as null."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    put(path, known | fields)


def made(name: str, config: Any, folder: Path, seed: int = 0) -> Any:
    """A random model of transformers, saved."""
    import transformers

    model = reference.randomised(getattr(transformers, name)(config), seed)
    model.save_pretrained(folder)
    return model


def bert(folder: Path, name: str = "BertModel", vocabulary: list[str] = VOCAB, **fields: Any) -> Any:
    """A small BERT with word pieces, saved by transformers."""
    import transformers

    sizes = {"vocab_size": len(vocabulary), "max_position_embeddings": 64} | SIZES | fields
    model = made(name, transformers.BertConfig(**sizes), folder)
    transformers.BertTokenizer(vocab={word: index for index, word in enumerate(vocabulary)}).save_pretrained(folder)
    return model


def sentence_bert(
    folder: Path,
    pooling: dict[str, Any] | None = {"pooling_mode_mean_tokens": True},  # noqa: B006  never changed
    settings: dict[str, Any] | None = None,
    kinds: tuple[str, ...] = ("sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling"),
    **more: Any,
) -> Path:
    """The same as sentence-transformers writes it. pooling: of 1_Pooling; None: no such module."""
    bert(folder, **more)
    modules = [{"idx": 0, "name": "0", "path": "", "type": kinds[0]}]
    if pooling is not None:
        modules.append({"idx": 1, "name": "1", "path": "1_Pooling", "type": kinds[1]})
        put(folder / "1_Pooling/config.json", {"word_embedding_dimension": 32, **pooling})
    put(folder / "modules.json", modules)
    put(folder / "sentence_bert_config.json", settings or {"max_seq_length": 32, "do_lower_case": False})
    return folder


def ids(folder: Path, text: str, pair: str | None = None) -> list[int]:
    """The ids that transformers finds."""
    import transformers

    found: list[int] = transformers.AutoTokenizer.from_pretrained(folder)(text, pair)["input_ids"]
    return found


def vectors(folder: Path, texts: list[str]) -> torch.Tensor:
    """The vectors that sentence-transformers makes."""
    import sentence_transformers

    found = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    return found.encode(texts, convert_to_tensor=True, show_progress_bar=False).float()

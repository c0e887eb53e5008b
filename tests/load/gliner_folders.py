"""Small folders of GLiNER, and what the package gliner 0.2.29 computes with them (gliner_scores.json).

The package is no dependency: `python -m tests.load.gliner_folders` writes the numbers again where it is installed. The
weights are sines, so that every machine writes the same folders.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SCORES = Path(__file__).with_name("gliner_scores.json")
TEXTS = ("Ada Lovelace lived in London from 1835.", "The co-op of Zoë (née Straße) opened in Warsaw, Poland!")
LABELS = ("person", "date of birth", "place")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ADDED = ["[FLERT]", "<<ENT>>", "<<SEP>>"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
         "max_position_embeddings": 128}  # fmt: skip
#: Name -> fields of the encoder, and of gliner_config.json: with and without projection, LSTM, the label's own token.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "deberta-v2": (
        {"relative_attention": True, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True,
         "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0,
         "max_relative_positions": -1, "max_position_embeddings": 32},  # the texts are longer
        {"hidden_size": 12, "num_rnn_layers": 1, "max_width": 3},
    ),
    "modernbert": (
        {"local_attention": 8, "global_attn_every_n_layers": 2, "cls_token_id": 2, "sep_token_id": 3,
         "bos_token_id": 2, "eos_token_id": 3},
        {"hidden_size": 16, "num_rnn_layers": 0, "max_width": 4},
    ),
    "bert": (
        {"type_vocab_size": 2},
        {"hidden_size": 10, "num_rnn_layers": 2, "max_width": 2, "embed_ent_token": False, "max_len": 9},
    ),
}  # fmt: skip


def write(folder: Path, kind: str, **more: Any) -> Path:
    """A folder of a case, as gliner writes it with safe_serialization. more: fields of gliner_config.json."""
    from safetensors.torch import save_file
    from transformers import AutoConfig, AutoModel

    about, own = CASES[kind]
    folder.mkdir(parents=True, exist_ok=True)
    n_tokens = write_tokenizer(folder, kind)
    fields = {"vocab_size": n_tokens, "pad_token_id": 0, **SIZES, **about}
    encoder = AutoModel.from_config(AutoConfig.for_model(kind, **fields))
    head = {"max_width": 12, "max_len": 384, "span_mode": "markerV0", "ent_token": ADDED[1], "sep_token": ADDED[2]}
    config = {**head, **own, "encoder_config": encoder.config.to_dict(), "class_token_index": n_tokens - 2}
    config |= {"model_name": str(folder), "vocab_size": n_tokens, "words_splitter_type": "whitespace", **more}
    (folder / "gliner_config.json").write_text(json.dumps(config), encoding="utf-8")
    shapes = {f"token_rep_layer.bert_layer.model.{name}": one.shape for name, one in encoder.state_dict().items()}
    shapes |= head_shapes(SIZES["hidden_size"], config["hidden_size"], config["num_rnn_layers"])
    save_file({name: weight(name, tuple(shape)) for name, shape in shapes.items()}, folder / "model.safetensors")
    return folder


def head_shapes(d_model: int, width: int, n_rnn_layers: int) -> dict[str, tuple[int, ...]]:
    """The head's weights."""
    found: dict[str, tuple[int, ...]] = {}
    maps = {"span_rep_layer.span_rep_layer.project_start": width, "span_rep_layer.span_rep_layer.project_end": width,
            "span_rep_layer.span_rep_layer.out_project": 2 * width, "prompt_rep_layer": width}  # fmt: skip
    for name, d_in in maps.items():
        found |= {f"{name}.0.weight": (4 * width, d_in), f"{name}.0.bias": (4 * width,)}
        found |= {f"{name}.3.weight": (width, 4 * width), f"{name}.3.bias": (width,)}
    if d_model != width:
        found |= {"token_rep_layer.projection.weight": (width, d_model), "token_rep_layer.projection.bias": (width,)}
    for layer in range(n_rnn_layers):
        for end in (f"l{layer}", f"l{layer}_reverse"):
            found |= {f"rnn.lstm.weight_ih_{end}": (2 * width, width), f"rnn.lstm.bias_ih_{end}": (2 * width,)}
            found |= {f"rnn.lstm.weight_hh_{end}": (2 * width, width // 2), f"rnn.lstm.bias_hh_{end}": (2 * width,)}
    return found


def weight(name: str, shape: tuple[int, ...]) -> Tensor:
    """Sines of many frequencies, around 1 for the gain of a norm."""
    count = int(torch.tensor(shape).prod())
    values = torch.sin(torch.arange(1, count + 1, dtype=torch.float64) ** 2 * 0.7137 + zlib.crc32(name.encode()) % 1000)
    gain = len(shape) == 1 and name.endswith("weight")
    last = "out_project.3" in name or "prompt_rep_layer.3" in name  # scores are to differ, so logits are small
    size = 1.0 if "embed" in name else 0.2 if gain or last else 0.45
    return (values * size + float(gain)).reshape(shape).float()


def write_tokenizer(folder: Path, kind: str) -> int:
    """A tokenizer of the kind that this encoder has, of few pieces. Returns its number of tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import BertTokenizer, DebertaV2Tokenizer, PreTrainedTokenizerFast

    words = sorted({word for text in (*TEXTS, *LABELS) for word in text.lower().replace(".", " ").split()})
    letters = sorted({letter for text in (*TEXTS, *LABELS) for letter in text if letter.strip()})
    made: Any
    if kind == "deberta-v2":
        pieces = [(token, 0.0) for token in SPECIAL] + [("▁", -8.0)]
        pieces += [(f"▁{word[:3]}", -6.0) for word in words if word[0] not in "▁("]
        pieces += [(letter, -10.0) for letter in letters]
        made = DebertaV2Tokenizer(vocab=list(dict(pieces).items()), unk_id=1)
    elif kind == "bert":
        pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *(word[:4] for word in words)]
        lowered = [piece.lower() for piece in pieces if piece not in SPECIAL]
        made = BertTokenizer(vocab={piece: at for at, piece in enumerate(dict.fromkeys([*SPECIAL, *lowered]))})
    else:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        merges = [("o", "n"), ("i", "n"), ("Ġ", "o"), ("e", "r"), ("Ġo", "f")]
        vocabulary = dict.fromkeys([*SPECIAL, *alphabet, *("".join(pair) for pair in merges)])
        backend = Tokenizer(models.BPE({piece: at for at, piece in enumerate(vocabulary)}, merges))
        backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
        made = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    made.add_tokens(ADDED, special_tokens=True)
    made.save_pretrained(folder)
    return len(made)


def measured(kind: str) -> list[dict[str, Any]]:
    """What gliner computes for each text: the ids, the logits of the spans in the text, and the entities."""
    from gliner import GLiNER

    found = []
    with tempfile.TemporaryDirectory() as place:
        model = GLiNER.from_pretrained(str(write(Path(place) / kind, kind)))
        for text in TEXTS:
            ready = model.prepare_batch([text], list(LABELS))
            batch = model.collate_batch(ready["input_x"], ready["entity_types"], model.create_collator())
            inside = batch["span_mask"][0]
            logits = model.run_batch(batch).logits[0].flatten(0, 1)[inside]
            entities = {str(at): model.predict_entities(text, list(LABELS), threshold=at) for at in (0.5, 0.8)}
            found.append({
                "text": text,
                "ids": batch["input_ids"][0].tolist(),
                "spans": batch["span_idx"][0][inside].tolist(),
                "logits": [[round(one, 7) for one in row] for row in logits.tolist()],
                "entities": {
                    at: [[one["start"], one["end"], one["label"], round(one["score"], 7)] for one in several]
                    for at, several in entities.items()
                },
            })  # fmt: skip
    return found


if __name__ == "__main__":
    numbers = {kind: measured(kind) for kind in CASES}
    SCORES.write_text(json.dumps(numbers, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    sys.stdout.write(f"{SCORES.name}: {SCORES.stat().st_size:,} bytes\n")

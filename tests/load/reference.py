"""Tiny random checkpoints of every family, written by transformers, and what transformers makes of them.

Sizes are pairwise distinct (L 1 or 3, H 5, K 8, D 40, F 52, E 24, V 99), so that a swapped axis shows; biases, gains
and tables are all random, so that one which is dropped or swapped shows; attention is neither uniform nor a spike.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

VOCAB = 99
SIZES = {"hidden_size": 40, "num_attention_heads": 5, "intermediate_size": 52}
TEXT = {"vocab_size": VOCAB, "max_position_embeddings": 211}
NARROW = {"embedding_size": 24}


@dataclass(frozen=True)
class ReferenceFamily:
    """One family for the tests. name: of transformers' classes; special: its tokens, by id 0, 1, 2, ..."""

    name: str
    special: tuple[str, ...] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    fields: dict[str, Any] = field(default_factory=dict)
    layers_field: str = "num_hidden_layers"
    two_segments: bool = False
    pooler: bool = False

    @property
    def roberta_like(self) -> bool:
        """Whether its tokens are <s> and its like."""
        return self.special[0] == "<s>"


ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
ROBERTA_FIELDS = {**SIZES, **TEXT, "pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
FAMILIES = {
    "bert": ReferenceFamily("Bert", fields={**SIZES, **TEXT}, two_segments=True, pooler=True),
    "bert-relu": ReferenceFamily(
        "Bert", fields={**SIZES, **TEXT, "hidden_act": "relu", "layer_norm_eps": 1e-3}, two_segments=True, pooler=True
    ),
    "roberta": ReferenceFamily("Roberta", ROBERTA, ROBERTA_FIELDS, pooler=True),
    "xlm-roberta": ReferenceFamily("XLMRoberta", ROBERTA, ROBERTA_FIELDS, pooler=True),
    "camembert": ReferenceFamily("Camembert", ROBERTA, ROBERTA_FIELDS, pooler=True),
    "roberta-prelayernorm": ReferenceFamily("RobertaPreLayerNorm", ROBERTA, ROBERTA_FIELDS, pooler=True),
    "distilbert": ReferenceFamily(
        "DistilBert",
        fields={"dim": 40, "n_heads": 5, "hidden_dim": 52, **TEXT},
        layers_field="n_layers",
    ),
    "electra": ReferenceFamily("Electra", fields={**SIZES, **TEXT, **NARROW}, two_segments=True),
    "electra-wide": ReferenceFamily("Electra", fields={**SIZES, **TEXT, "embedding_size": 40}, two_segments=True),
    "mpnet": ReferenceFamily("MPNet", ROBERTA, {**SIZES, **TEXT, "layer_norm_eps": 1e-5}, pooler=True),
    "albert": ReferenceFamily("Albert", fields={**SIZES, **TEXT, **NARROW}, two_segments=True, pooler=True),
    "modernbert": ReferenceFamily(
        "ModernBert",
        fields={
            **SIZES, **TEXT, "local_attention": 14, "pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3,
            "bos_token_id": 2, "eos_token_id": 3,
        },
    ),
    "modernbert-biased": ReferenceFamily(
        "ModernBert",
        fields={
            **SIZES, **TEXT, "local_attention": 14, "pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3,
            "bos_token_id": 2, "eos_token_id": 3, "norm_bias": True, "attention_bias": True, "mlp_bias": True,
            "classifier_bias": True, "hidden_activation": "silu", "classifier_activation": "relu",
        },
    ),
}  # fmt: skip
IMAGES = {**SIZES, "image_size": 24, "patch_size": 4, "num_channels": 3}


def config_of(family: str, n_layers: int, **more: Any) -> Any:
    """transformers' config of a family."""
    import transformers

    entry = FAMILIES[family]
    return getattr(transformers, f"{entry.name}Config")(**{**entry.fields, entry.layers_field: n_layers, **more})


def model_of(family: str, head: str, n_layers: int, seed: int = 0, **more: Any) -> nn.Module:
    """A reference model (head "Model", "ForMaskedLM", ...), all of its weights random, eager attention, eval mode."""
    import transformers

    kind = getattr(transformers, f"{FAMILIES[family].name}{head}")
    return randomised(kind._from_config(config_of(family, n_layers, **more), attn_implementation="eager"), seed)


def image_model_of(name: str, head: str, n_layers: int, seed: int = 0, **more: Any) -> nn.Module:
    """A reference encoder of images ("DeiT", "Dinov2", ...), like `model_of`."""
    import transformers

    config = getattr(transformers, f"{name}Config")(**{**IMAGES, "num_hidden_layers": n_layers, **more})
    kind = getattr(transformers, f"{name}{head}")
    return randomised(kind._from_config(config, attn_implementation="eager"), seed)


def vit_of(head: str, n_layers: int, seed: int = 0, **more: Any) -> nn.Module:
    """A reference ViT, like `model_of`."""
    import transformers

    config = transformers.ViTConfig(**{**IMAGES, "num_hidden_layers": n_layers, **more})
    return randomised(getattr(transformers, f"ViT{head}")._from_config(config, attn_implementation="eager"), seed)


@torch.no_grad()
def randomised(model: nn.Module, seed: int) -> nn.Module:
    """Fill every weight: tables N(0, 1), gains N(1, 0.3^2), biases N(0, 0.3^2), maps N(0, 0.15^2).

    Queries and keys get twice that where they are maps of their own: sharp attention, a stream of the order of 1.
    """
    generator = torch.Generator().manual_seed(seed)
    filled: set[int] = set()
    for name, module in model.named_modules():
        for kind, parameter in module.named_parameters(recurse=False):
            if id(parameter) in filled:  # a tied table, met again in the head
                continue
            filled.add(id(parameter))
            values = torch.randn(parameter.shape, generator=generator)
            is_table = isinstance(module, nn.Embedding) or name.endswith("embeddings")
            is_gain = "norm" in name.rsplit(".", 1)[-1].lower() and kind == "weight"
            sharp = name.rsplit(".", 1)[-1] in ("query", "key", "q_lin", "k_lin", "q", "k", "q_proj", "k_proj")
            std = 0.3 if sharp or parameter.dim() == 1 else 0.15
            parameter.copy_(values if is_table else std * values + float(is_gain))
        if isinstance(module, nn.BatchNorm1d):  # multiples of 1/256, as `Case.make` has them
            for statistic, usual in ((module.running_mean, 0.0), (module.running_var, 1.5)):
                drawn = torch.rand(statistic.shape, generator=generator) + usual
                statistic.copy_((drawn * 256).round() / 256)
    return model.eval()


def write(model: nn.Module, folder: Path, family: str | None) -> Path:
    """save_pretrained, with a tokenizer whose words are their own ids ("w17" is 17)."""
    model.save_pretrained(folder)
    if family is not None:
        write_tokenizer(folder, family)
    return folder


def write_tokenizer(folder: Path, family: str) -> None:
    """A tokenizer.json of 99 words, with the family's special tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    entry = FAMILIES[family]
    words = [*entry.special, *(f"w{index}" for index in range(len(entry.special), VOCAB))]
    unknown = next(token for token in entry.special if "unk" in token.lower())
    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token=unknown))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(list(entry.special))
    cls, sep = ("<s>", "</s>") if entry.roberta_like else ("[CLS]", "[SEP]")
    pair = f"{cls} $A {sep} {sep} $B {sep}" if entry.roberta_like else f"{cls} $A {sep} $B:1 {sep}:1"
    backend.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}", pair=pair, special_tokens=[(cls, words.index(cls)), (sep, words.index(sep))]
    )
    backend.save(str(folder / "tokenizer.json"))
    names = {"pad_token": "pad", "mask_token": "mask", "cls_token": cls, "sep_token": sep}
    special = {
        key: next((token for token in entry.special if word in token.lower()), word) for key, word in names.items()
    }
    (folder / "special_tokens_map.json").write_text(json.dumps(special), encoding="utf-8")
    names = ["input_ids", *(["token_type_ids"] if entry.two_segments else []), "attention_mask"]
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def sentence(n_words: int, seed: int = 0) -> str:
    """A text of words that the tokenizers above know, some of them repeated."""
    draw = random.Random(seed)
    return " ".join(f"w{draw.randrange(5, VOCAB)}" for _ in range(n_words))


def inputs_of(model: Any, texts: list[tuple[str, str | None]], family: str) -> dict[str, torch.Tensor]:
    """What the reference is given for the same texts: ids, mask and, where the family has two segments, segments."""
    batch = [model.tokenize(text, pair) for text, pair in texts]
    longest = max(len(one) for one in batch)
    pad = model.config.pad_id
    inputs = {
        "input_ids": torch.tensor([[*one.ids, *[pad] * (longest - len(one))] for one in batch]),
        "attention_mask": torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in batch]),
    }
    if FAMILIES[family].two_segments:
        rows = [[*one.segments, *[0] * (longest - len(one))] for one in batch]
        inputs["token_type_ids"] = torch.tensor(rows)
    return inputs


def pooled(ours: Any, output: torch.Tensor) -> torch.Tensor:
    """BERT's pooler of an output [T, D]: tanh(W x_[CLS] + b), [1, D]."""
    return torch.tanh(ours.pooler(output[:1]))

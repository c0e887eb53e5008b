"""Pipelines of other programs, right and wrong, written without the engine: transformers, torch, NumPy, ONNX Runtime.

`cases()` lists them: a small random model of a family (or MiniLM), one fault or none, and the names that a diagnosis
must give. `OUTSIDE` has faults that are not in the list.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from safetensors.torch import save_file
from tokenizers import models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn

from encoder.checkpoints.bundled import bundled_folder
from tests.load.reference import randomised

LETTERS = "abcdefghijklmnopqrstuvwxyz"
OTHERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?-éōüç大家好"
SIZES = {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 56, "num_hidden_layers": 3}
TEXTS = (
    "a",
    "hello world",
    "the quick brown fox jumps over a dog.",
    "NASA and GPT in New York",
    "Hokkaidō, café and Zürich",
    "大家好 GPT",
    "one, two; three: four!",
    "where does the river end and the sea begin, and who can say it",
    "a longer text that has more than sixty letters, so that a limit of sixty-four tokens cuts it in every family",
    "2024-11-28: 3.14",
)
PROMPT = "query: "
MAX_LENGTH = 64


@dataclass(frozen=True)
class Kind:
    """A family. type: of transformers; fields: of its config; decoder: whether it is causal and pools its last token;
    bytes: whether its tokenizer works on bytes."""

    type: str
    fields: dict[str, Any] = field(default_factory=dict)
    decoder: bool = False
    bytes: bool = False
    pooling: str = "mean"


BERT = {"type_vocab_size": 2, "max_position_embeddings": 160, "layer_norm_eps": 1e-12}
ROBERTA = {"type_vocab_size": 1, "max_position_embeddings": 162, "pad_token_id": 1, "layer_norm_eps": 1e-5}
GQA = {
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
KINDS = {
    "bert": Kind("Bert", BERT),
    "bert-cls": Kind("Bert", BERT, pooling="cls"),
    "electra": Kind("Electra", {**BERT, "embedding_size": 24}),
    "distilbert": Kind(
        "DistilBert", {"dim": 48, "n_heads": 4, "hidden_dim": 56, "n_layers": 3, "max_position_embeddings": 160}
    ),
    "roberta": Kind("Roberta", ROBERTA, bytes=True),
    "xlm-roberta": Kind("XLMRoberta", ROBERTA, bytes=True, pooling="cls"),
    "modernbert": Kind(
        "ModernBert",
        {
            "local_attention": 16,
            "max_position_embeddings": 512,
            "pad_token_id": 0,
            "cls_token_id": 2,
            "sep_token_id": 3,
        },
    ),
    "qwen2": Kind("Qwen2", GQA, decoder=True, bytes=True, pooling="last"),
    "qwen3": Kind("Qwen3", {**GQA, "head_dim": 12}, decoder=True, bytes=True, pooling="last"),
    "llama": Kind("Llama", GQA, decoder=True, bytes=True, pooling="mean"),
}


def character_tokenizer() -> tokenizers.Tokenizer:
    """BERT's tokenizer with a piece for each character."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += [f"{before}{one}" for one in LETTERS + OTHERS for before in ("", "##")]
    made = tokenizers.Tokenizer(models.WordPiece({one: at for at, one in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    made.add_special_tokens(pieces[:5])
    return made


def byte_tokenizer(*, decoder: bool) -> tokenizers.Tokenizer:
    """A tokenizer with a token for each byte; of a decoder, with EOS only."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {one: at for at, one in enumerate([*special, *alphabet])}
    made = tokenizers.Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    single, pair = ("$A </s>", "$A </s> $B </s>") if decoder else ("<s> $A </s>", "<s> $A </s> $B </s>")
    used = [("<s>", 0), ("</s>", 2)][int(decoder) :]
    made.post_processor = processors.TemplateProcessing(single, pair, used)
    made.add_special_tokens(special)
    return made


SPECIAL = {
    False: {
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    },
    True: {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"},
}


def write_model(
    folder: Path, name: str, seed: int, *, dense: int = 0, normalise: bool = True, prompt: bool = False
) -> Path:
    """A folder of sentence-transformers with a random model. dense: maps after the pooling."""
    import transformers

    kind = KINDS[name]
    tokenizer = byte_tokenizer(decoder=kind.decoder) if kind.bytes else character_tokenizer()
    fields = {**SIZES, **kind.fields} if name != "distilbert" else dict(kind.fields)
    config = getattr(transformers, f"{kind.type}Config")(vocab_size=tokenizer.get_vocab_size(), **fields)
    model = randomised(getattr(transformers, f"{kind.type}Model")(config), seed)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        **SPECIAL[kind.bytes],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "padding_side": "left" if kind.pooling == "last" else "right",
    }
    modules = ["Transformer", "Pooling", *["Dense"] * dense, *["Normalize"] * normalise]
    written: list[dict[str, Any]] = []
    generator = torch.Generator().manual_seed(seed + 1)
    for place, module in enumerate(modules):
        path = "" if module == "Transformer" else f"{place}_{module}"
        written.append(
            {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{module}"}
        )
        (folder / path).mkdir(exist_ok=True)
        if module == "Pooling":
            key = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken"}[kind.pooling]
            about = {"word_embedding_dimension": 48, f"pooling_mode_{key}": True}
        elif module == "Dense":
            about = {
                "in_features": 48,
                "out_features": 48,
                "bias": True,
                "activation_function": "torch.nn.modules.activation.Tanh",
            }
            weights = {
                "linear.weight": torch.randn(48, 48, generator=generator) * 0.2,
                "linear.bias": torch.randn(48, generator=generator) * 0.1,
            }
            save_file(weights, folder / path / "model.safetensors")
        else:
            continue
        (folder / path / "config.json").write_text(json.dumps(about))
    (folder / "modules.json").write_text(json.dumps(written))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": MAX_LENGTH, "do_lower_case": False})
    )
    if prompt:
        prompts = {"prompts": {"query": PROMPT, "document": "passage: "}, "default_prompt_name": "query"}
        (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


@dataclass(frozen=True)
class Program:
    """Another program. Its fields are what it does; `embed` does it with transformers.

    batched: all texts together, or `size` of them; sorts: by characters first, as sentence-transformers does.
    """

    folder: Path
    pooling: str
    dense: tuple[int, ...] = ()
    dense_activation: str = "tanh"
    normalise: bool = True
    prompt: str = ""
    template: str = "{}"
    special: bool = True
    row: Callable[[list[int]], list[int]] | None = None
    tokenizer: Callable[[tokenizers.Tokenizer], None] | None = None
    max_length: int = MAX_LENGTH
    keeps: str = "start"
    cuts_special: bool = False
    batched: bool = False
    size: int = 0
    sorts: bool = False
    side: str = "right"
    fixed: int = 0
    masks_attention: bool = True
    masks_pooling: bool = True
    last: str = "real"
    config: tuple[tuple[str, Any], ...] = ()
    change: Callable[[nn.Module], None] | None = None
    more: Callable[[Tensor, Tensor], dict[str, Any]] | None = None
    layer: int = -1
    dtype: str = "float32"
    cut: int = 0
    again: bool = False
    finish: Callable[[np.ndarray], np.ndarray] | None = None

    def model(self) -> nn.Module:
        import transformers

        config = transformers.AutoConfig.from_pretrained(self.folder)
        for name, value in self.config:
            target = config
            setattr(target, name, value)
        model = transformers.AutoModel.from_pretrained(self.folder, config=config, attn_implementation="eager").eval()
        if self.change is not None:
            self.change(model)
        return model.to(getattr(torch, self.dtype))

    def rows(self, texts: tuple[str, ...]) -> list[list[int]]:
        splits = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        splits.no_padding()
        splits.no_truncation()
        if self.tokenizer is not None:
            self.tokenizer(splits)
        found = []
        for text in texts:
            given = self.template.replace("{}", self.prompt + text)
            whole = splits.encode(given).ids
            content = splits.encode(given, add_special_tokens=False).ids
            start = next((at for at in range(len(whole) + 1) if whole[at : at + len(content)] == content), 0)
            before, after = whole[:start], whole[start + len(content) :]
            if not self.special:
                before = after = []
            if self.cuts_special:
                row = (before + content + after)[: self.max_length]
            else:
                room = self.max_length - len(before) - len(after)
                row = before + (content[:room] if self.keeps == "start" else content[-room:]) + after
            found.append(row if self.row is None else self.row(row))
        return found

    @torch.no_grad()
    def embed(self, texts: tuple[str, ...] = TEXTS) -> np.ndarray:
        model, rows = self.model(), self.rows(texts)
        pad = json.loads((self.folder / "config.json").read_text()).get("pad_token_id", 0) or 0
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]) if self.sorts else place)
        size = (self.size or len(rows)) if self.batched else 1
        groups = [order[first : first + size] for first in range(0, len(order), size)]
        found = torch.cat([self.batch(model, [rows[place] for place in group], pad) for group in groups])
        vectors = found.float().numpy()[np.argsort(order)]
        return vectors if self.finish is None else self.finish(vectors)

    def batch(self, model: nn.Module, rows: list[list[int]], pad: int) -> Tensor:
        width = max(max(map(len, rows)), self.fixed)

        def full(row: list[int], value: int) -> list[int]:
            padding = [value] * (width - len(row))
            return row + padding if self.side == "right" else padding + row

        ids = torch.tensor([full(row, pad) for row in rows])
        mask = torch.tensor([full([1] * len(row), 0) for row in rows])
        given: dict[str, Any] = {"attention_mask": mask if self.masks_attention else torch.ones_like(mask)}
        given |= {} if self.more is None else self.more(ids, mask)
        out = model(input_ids=ids, output_hidden_states=True, **given)
        x = out.last_hidden_state if self.layer == -1 else out.hidden_states[self.layer]
        return self.end(x, mask if self.masks_pooling else torch.ones_like(mask), mask)

    def end(self, x: Tensor, mask: Tensor, real: Tensor) -> Tensor:
        rows, weight = torch.arange(len(x)), mask.unsqueeze(-1).to(x.dtype)
        if self.pooling == "cls":
            pooled = x[rows, mask.argmax(1)]
        elif self.pooling == "last":
            places = {
                "real": x.shape[1] - 1 - real.flip(1).argmax(1),
                "count": real.sum(1) - 1,
                "column": torch.full((len(x),), x.shape[1] - 1),
            }
            pooled = x[rows, places[self.last]]
        elif self.pooling == "max":
            pooled = x.masked_fill(weight == 0, -torch.inf).amax(1)
        else:
            pooled = (x * weight).sum(1) / weight.sum(1)
        pooled = pooled.float()
        from safetensors.torch import load_file

        for place in self.dense:
            weights = load_file(self.folder / f"{place + 2}_Dense" / "model.safetensors")
            pooled = nn.functional.linear(pooled, weights["linear.weight"], weights["linear.bias"])
            pooled = torch.tanh(pooled) if self.dense_activation == "tanh" else pooled
        if self.normalise:
            pooled = nn.functional.normalize(pooled, dim=-1)
        if self.cut:
            pooled = pooled[:, : self.cut]
            pooled = nn.functional.normalize(pooled, dim=-1) if self.again else pooled
        return pooled


@dataclass(frozen=True)
class Case:
    """One pipeline: a model, what is wrong, and the names that are right answers."""

    model: str
    fault: str
    wrong: dict[str, Any]
    expects: tuple[frozenset[str], ...]
    written: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    verdict: str = "fault"

    @property
    def id(self) -> str:
        return f"{self.model}-{self.fault}-{self.seed}"

    def make(self, folder: Path) -> Program:
        """Write the model, and the wrong program next to it."""
        if self.model == "minilm":
            return Program(bundled_folder("minilm"), **{"pooling": "mean", "max_length": 256, **self.wrong})
        write_model(folder, self.model, self.seed, **self.written)
        usual = {
            "pooling": KINDS[self.model].pooling,
            "dense": tuple(range(self.written.get("dense", 0))),
            "normalise": self.written.get("normalise", True),
            "prompt": PROMPT if self.written.get("prompt") else "",
        }
        return Program(folder, **{**usual, **self.wrong})


# --- what goes wrong ------------------------------------------------------------------------------------------------


def layers_of(model: nn.Module) -> nn.ModuleList:
    """The layers of any family."""
    return next(module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == 3)


def reverse_layers(model: nn.Module) -> None:
    layers = layers_of(model)
    order = list(layers)[::-1]
    for place, layer in enumerate(order):
        layers[place] = layer


def without_embedding_norm(model: nn.Module) -> None:
    model.embeddings.LayerNorm = nn.Identity()


def without_final_norm(model: nn.Module) -> None:
    if hasattr(model, "final_norm"):
        model.final_norm = nn.Identity()
    else:
        model.norm = nn.Identity()


def without_segments(model: nn.Module) -> None:
    model.embeddings.token_type_embeddings.weight.data.zero_()


def rounded_weights(kind: str) -> Callable[[nn.Module], None]:
    def change(model: nn.Module) -> None:
        for parameter in model.parameters():
            parameter.data = parameter.data.to(getattr(torch, kind)).float()

    return change


def both_directions(ids: Tensor, mask: Tensor) -> dict[str, Any]:
    shown = torch.zeros(len(ids), 1, ids.shape[1], ids.shape[1])
    return {"attention_mask": shown.masked_fill(mask[:, None, None, :] == 0, torch.finfo(torch.float32).min)}


def one_direction(ids: Tensor, mask: Tensor) -> dict[str, Any]:
    """BERT's class takes a mask of pairs, too."""
    seen = torch.ones(ids.shape[1], ids.shape[1]).tril() * mask[:, None, None, :]
    return (
        {"attention_mask": seen}
        if False
        else {"attention_mask": torch.where(seen > 0, 0.0, torch.finfo(torch.float32).min)}
    )


def cased(splits: tokenizers.Tokenizer) -> None:
    splits.normalizer = normalizers.BertNormalizer(lowercase=False)


def with_accents(splits: tokenizers.Tokenizer) -> None:
    splits.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)


def lowered(splits: tokenizers.Tokenizer) -> None:
    splits.normalizer = normalizers.Lowercase()


def with_word_marker(splits: tokenizers.Tokenizer) -> None:
    splits.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)


def named(*names: str) -> tuple[frozenset[str], ...]:
    """One right answer, of these names together."""
    return (frozenset(names),)


def either(*answers: str) -> tuple[frozenset[str], ...]:
    """Several right answers, which give the same vectors."""
    return tuple(frozenset(one.split("+")) for one in answers)


ENCODERS = ("bert", "bert-cls", "electra", "distilbert", "roberta", "xlm-roberta", "modernbert")
PIECES = ("bert", "bert-cls", "electra", "distilbert", "modernbert")
BYTES = ("roberta", "xlm-roberta")
DECODERS = ("qwen2", "qwen3", "llama")
EVERY = (*ENCODERS, *DECODERS)
WITH_NORM = ("bert", "bert-cls", "roberta", "xlm-roberta", "electra", "distilbert")
PLAIN = {"normalise": False}
PROMPTED = {"prompt": True}
DENSE = {"dense": 2}

#: Name -> (models, what is wrong, right answers, what the folder has).
FAULTS: dict[str, tuple[tuple[str, ...], dict[str, Any], tuple[frozenset[str], ...], dict[str, Any]]] = {
    "pooling-cls": (
        ("bert", "electra", "distilbert", "roberta", "modernbert", "llama"),
        {"pooling": "cls"},
        named("pooling"),
        {},
    ),
    "pooling-mean": (("bert-cls", "xlm-roberta", "qwen2", "qwen3"), {"pooling": "mean"}, named("pooling"), {}),
    "pooling-max": (EVERY, {"pooling": "max"}, named("pooling"), PLAIN),
    "normalise-missing": (EVERY, {"normalise": False}, named("normalise-missing"), {}),
    "normalise-extra": (EVERY, {"normalise": True}, named("normalise-extra"), PLAIN),
    "dense-missing": (EVERY, {"dense": ()}, named("dense-missing"), DENSE),
    "second-dense-missing": (EVERY, {"dense": (0,)}, named("dense-missing"), DENSE),
    "dense-activation": (EVERY, {"dense_activation": "none"}, named("dense-activation"), DENSE),
    "prompt-missing": (EVERY, {"prompt": ""}, named("prompt-missing"), PROMPTED),
    "prompt-doubled": (EVERY, {"prompt": 2 * PROMPT}, named("prompt-doubled"), PROMPTED),
    "prompt-other": (EVERY, {"prompt": "passage: "}, named("prompt-other"), PROMPTED),
    "template": (EVERY, {"template": "[INST] {} [/INST]"}, named("template"), {}),
    "special-tokens-missing": (ENCODERS, {"special": False}, named("special-tokens-missing"), {}),
    "eos-missing": (ENCODERS, {"row": lambda row: row[:-1]}, named("eos-missing"), {}),
    "decoder-eos-missing": (
        DECODERS,
        {"row": lambda row: row[:-1]},
        either("eos-missing", "special-tokens-missing"),
        {},
    ),
    "bos-doubled": (ENCODERS, {"row": lambda row: [row[0], *row]}, named("bos-doubled"), {}),
    "truncation": (EVERY, {"max_length": 32}, named("truncation"), {}),
    "truncation-end": (EVERY, {"keeps": "end"}, named("truncation"), {}),
    "truncation-special": (EVERY, {"cuts_special": True}, named("truncation"), {}),
    "truncation-odd": (EVERY, {"max_length": 57}, named("truncation"), {}),
    "lower-case": (PIECES, {"tokenizer": cased}, named("lower-case"), {}),
    "lower-case-on": (BYTES, {"tokenizer": lowered}, named("lower-case"), {}),
    "accents": (PIECES, {"tokenizer": with_accents}, named("accents"), {}),
    "word-markers": ((*BYTES, *DECODERS), {"tokenizer": with_word_marker}, named("word-markers"), {}),
    "attended-padding": (
        ("bert", "electra", "distilbert", "modernbert"),
        {"batched": True, "masks_attention": False},
        named("attended-padding"),
        {},
    ),
    "pooled-padding": (
        ("bert", "electra", "distilbert", "roberta", "modernbert"),
        {"batched": True, "masks_pooling": False},
        named("pooled-padding"),
        {},
    ),
    "padding-side": (
        ("bert", "bert-cls", "electra", "distilbert"),
        {"batched": True, "side": "left"},
        named("padding-side"),
        {},
    ),
    "fixed-padding": (
        ("bert", "electra", "distilbert", "modernbert"),
        {"fixed": 128, "masks_attention": False, "masks_pooling": False},
        named("fixed-padding"),
        {},
    ),
    "last-token-count": (
        ("qwen2", "qwen3"),
        {"batched": True, "side": "left", "last": "count"},
        named("last-token-place"),
        {},
    ),
    "last-token-column": (
        ("qwen2", "qwen3"),
        {"batched": True, "side": "right", "last": "column"},
        named("last-token-place"),
        {},
    ),
    "bidirectional": (DECODERS, {"more": both_directions}, named("bidirectional"), {}),
    "causal": (
        ("bert", "bert-cls", "electra", "distilbert", "roberta", "xlm-roberta"),
        {"more": one_direction},
        named("causal"),
        {},
    ),
    "segments-second": (
        ("bert", "bert-cls", "electra"),
        {"more": lambda ids, mask: {"token_type_ids": torch.ones_like(ids)}},
        named("segments"),
        {},
    ),
    "segments-missing": (("bert", "bert-cls", "roberta"), {"change": without_segments}, named("segments"), {}),
    "position-offset": (
        BYTES,
        {"more": lambda ids, mask: {"position_ids": torch.arange(ids.shape[1])[None]}},
        named("position-offset"),
        {},
    ),
    "rotary-base": (
        ("qwen2", "qwen3", "llama"),
        {"config": (("rope_parameters", {"rope_type": "default", "rope_theta": 1_000_000.0}),)},
        named("rotary-base"),
        {},
    ),
    "embedding-norm-missing": (WITH_NORM, {"change": without_embedding_norm}, named("embedding-norm-missing"), {}),
    "layer": (EVERY, {"layer": -2}, named("layer"), {}),
    "first-layer": (EVERY, {"layer": 1}, named("layer"), {}),
    "final-norm": (("modernbert", *DECODERS), {"change": without_final_norm}, named("final-norm"), {}),
    "layer-order": (
        ("bert", "electra", "distilbert", "roberta", *DECODERS),
        {"change": reverse_layers},
        named("layer-order"),
        {},
    ),
    "activation": (
        ("bert", "bert-cls", "electra", "roberta"),
        {"config": (("hidden_act", "gelu_new"),)},
        named("activation"),
        {},
    ),
    "activation-relu": (("bert", "xlm-roberta"), {"config": (("hidden_act", "relu"),)}, named("activation"), {}),
    "epsilon": (
        ("bert", "bert-cls", "electra", "roberta"),
        {"config": (("layer_norm_eps", 1e-3),)},
        named("epsilon"),
        {},
    ),
    "truncated-dimensions": (EVERY, {"cut": 16}, named("truncated-dimensions"), {}),
    "matryoshka-order": (EVERY, {"cut": 16, "again": True}, named("truncated-dimensions", "matryoshka-order"), {}),
    "precision-weights": (EVERY, {"change": rounded_weights("bfloat16")}, named("precision"), {}),
    "precision-bfloat16": (ENCODERS, {"dtype": "bfloat16"}, named("precision"), {}),
    "precision-vectors": (EVERY, {"finish": lambda x: x.astype(np.float16).astype(np.float32)}, named("precision"), {}),
    "cls-and-not-normalised": (
        ("bert", "electra", "roberta"),
        {"pooling": "cls", "normalise": False},
        named("pooling", "normalise-missing"),
        {},
    ),
    "eos-and-mean": (
        ("qwen2", "qwen3"),
        {"row": lambda row: row[:-1], "pooling": "mean"},
        either("pooling", "eos-missing+pooling"),
        {},
    ),
    "prompt-and-dense": (
        ("bert", "llama"),
        {"prompt": "", "dense": (0,)},
        named("prompt-missing", "dense-missing"),
        {**PROMPTED, **DENSE},
    ),
    "accents-and-cls": (
        ("bert", "distilbert"),
        {"tokenizer": with_accents, "pooling": "cls"},
        named("accents", "pooling"),
        {},
    ),
    "no-mask-at-all": (
        ("bert", "electra"),
        {"batched": True, "masks_attention": False, "masks_pooling": False},
        either("fixed-padding", "attended-padding+pooled-padding"),
        {},
    ),
}


def rotated(vectors: np.ndarray) -> np.ndarray:
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(vectors.shape[1],) * 2))[0]
    return (vectors @ turn).astype(np.float32)


def noisy_layer(model: nn.Module) -> None:
    generator = torch.Generator().manual_seed(5)
    for parameter in layers_of(model)[1].parameters():
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=generator)


def shuffled_vocabulary(row: list[int]) -> list[int]:
    order = list(range(5, 130))
    random.Random(7).shuffle(order)
    return [order[one - 5] if 5 <= one < 130 else one for one in row]


#: Faults that are not in the list.
OUTSIDE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "rotation": (("bert", "roberta", "modernbert", "qwen2", "llama"), {"finish": rotated}),
    "noisy-layer": (
        ("bert", "electra", "distilbert", "roberta", "modernbert", "qwen2", "llama"),
        {"change": noisy_layer},
    ),
    "shuffled-vocabulary": (
        ("bert", "electra", "distilbert", "roberta", "modernbert", "qwen2", "qwen3", "llama"),
        {"row": shuffled_vocabulary},
    ),
}


def cases(number: int = 200) -> list[Case]:
    """`number` pipelines: sound ones of each model, then the faults in turn, each of another model."""
    found = [Case(model, "sound", {}, (), seed=seed, verdict="sound") for seed, model in enumerate(EVERY)]
    found += [Case("minilm", "sound", {}, (), verdict="sound")]
    found += [Case("minilm", name, FAULTS[name][1], FAULTS[name][2]) for name in ("pooling-cls", "normalise-missing")]
    found += [Case(model, f"outside-{name}", wrong, (), seed=40 + place, verdict="unknown")
              for name, (models_of, wrong) in OUTSIDE.items() for place, model in enumerate(models_of)]  # fmt: skip
    rounds = iter(_in_turn())
    while len(found) < number:
        found.append(next(rounds))
    return found


def _in_turn() -> Iterator[Case]:
    for turn in range(len(EVERY)):
        for place, (name, (models_of, wrong, expects, written)) in enumerate(FAULTS.items()):
            if turn < len(models_of):
                model = models_of[(turn + place) % len(models_of)]
                yield Case(model, name, wrong, expects, written, seed=10 * turn + place)

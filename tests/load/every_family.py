"""Tiny random checkpoints of every family, and their differences from transformers in float64 and float32.

Sizes are odd on purpose: 6 heads of queries that share 2 of keys and values, heads that do not divide the width, tables
of another width. Weights are whole in float32, so that the float64 of both sides starts from the same numbers.

Many models compute some steps in float32 whatever the weights are (RMSNorm, rotary angles, the softmax). `InFloat64`
turns these into float64 too, in the reference as in ours, so that a difference of 1e-10 means the same formula.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import encoder
from encoder.model.encoder import Encoder
from tests.load import reference, sounds

BERT, ROBERTA = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), reference.ROBERTA
SIZES = {
    "hidden_size": 48,
    "num_attention_heads": 6,
    "intermediate_size": 52,
    "num_hidden_layers": 3,
    "vocab_size": 99,
    "max_position_embeddings": 211,
}
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
WIDE = {**SIZES, **IDS, "num_key_value_heads": 2, "head_dim": 10}
ROBERTA_IDS = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
LANGUAGES = {"languages": ["en_XX", "de_DE", "sw_KE"], "default_language": "de_DE", "adapter_reduction_factor": 3}


@dataclass(frozen=True)
class Case:
    """One kind of checkpoint.

    title: for people; kind: of transformers' classes; model: its class, by default {kind}Model; special: first tokens
    of the tokenizer; encode: the module of the reference that is compared; banded: whether its maps come as bands;
    more: further inputs of the reference; lengths: words; gains_from_one: whether gains are saved minus 1; softer:
    pattern
    of weights that are made smaller, where sharp attention would show rounding only; kept: pattern of weights that stay
    as transformers made them; maps: whether the reference returns them; averaged: whether these are means over heads;
    exact: gives a rebuilt model the
    tables that transformers rounds to float32; altered: makes a model of transformers what a checkpoint with code of
    its own is, whose code transformers does not have; boxes, nodes: whether the words have boxes on a page, or
    paths in a tree of HTML; files: the fields of further files of the folder.
    """

    title: str
    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    special: tuple[str, ...] = BERT
    encode: Callable[[Any], Any] = lambda model: model
    banded: bool = False
    more: Callable[[Tensor], dict[str, Any]] = lambda ids: {}
    lengths: tuple[int, ...] = (3, 40)
    gains_from_one: bool = False
    softer: str = ""
    kept: str = ""
    maps: bool = True
    averaged: bool = False
    exact: Callable[[Any], None] = lambda model: None
    altered: Callable[[Any], Any] = lambda model: model
    boxes: bool = False
    nodes: bool = False
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def make(self, seed: int = 0) -> nn.Module:
        """The reference with random weights, in float32.

        They are multiples of 1/256: what loading adds and multiplies (Gemma's 1 + gain, layer scale) is then exact.
        """
        model = self.build()
        before = {name: value.clone() for name, value in model.named_parameters()}
        reference.randomised(model, seed)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if self.kept and re.search(self.kept, name):
                    parameter.copy_(before[name])
                    continue
                if self.softer and re.search(self.softer, name):
                    parameter.div_(4.0)
                if self.gains_from_one and "norm" in name:
                    parameter.sub_(1.0)
                parameter.copy_((parameter * 256).round() / 256)
        return model

    def named(self, end: str, name: str = "") -> Any:
        """A class of transformers, or of a module here for a family that transformers lacks."""
        import transformers

        from tests.load import neobert, nomic_experts

        name = name or f"{self.kind}{end}"
        return next(getattr(one, name) for one in (neobert, nomic_experts, transformers) if hasattr(one, name))

    @property
    def model_type(self) -> str:
        """As config.json has it."""
        return str(self.named("Config").model_type)

    def build(self) -> nn.Module:
        """The reference as transformers makes it."""
        config = self.named("Config")(**copy.deepcopy(self.fields))
        kind = self.named("Model", self.model)
        try:
            model: nn.Module = kind._from_config(config, attn_implementation="eager", experts_implementation="eager")
        except ValueError:  # one implementation only
            model = kind._from_config(config)
        made: nn.Module = self.altered(model)
        return made.eval()


class GatedByGelu(nn.Module):
    """Jina v2's feed-forward layer, with its residual connection and its norm: gelu(x A) * x B, by one weight."""

    def __init__(self, width: int, hidden: int, eps: float) -> None:
        super().__init__()
        self.gated_layers = nn.Linear(width, 2 * hidden, bias=False)
        self.wo, self.layernorm = nn.Linear(hidden, width), nn.LayerNorm(width, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        active, passive = self.gated_layers(x).chunk(2, dim=-1)
        return self.layernorm(x + self.wo(nn.functional.gelu(active) * passive))


class NoPositions(nn.Module):
    """In the place of a table of positions: nothing is added."""

    def forward(self, positions: Tensor) -> Tensor:
        return torch.zeros((), device=positions.device)


def jina_v2(model: Any) -> Any:
    """BERT with ALiBi as the mask that transformers adds to the scores, and gated layers."""
    config, heads = model.config, model.config.num_attention_heads
    whole = 2 ** int(np.log2(heads))
    slopes = [2.0 ** (-8 * (one + 1) / whole) for one in range(whole)]
    slopes += [2.0 ** (-4 * (one + 1) / whole) for one in range(2 * whole)][::2][: heads - whole]

    def with_bias(module: Any, given: Any, options: dict[str, Any]) -> Any:
        place = torch.arange(options["input_ids"].shape[1])
        distance = (place[:, None] - place[None]).abs().to(module.dtype)
        bias = -torch.tensor(slopes, dtype=module.dtype)[:, None, None] * distance
        return given, {**options, "attention_mask": bias[None]}

    model.embeddings.position_embeddings = NoPositions()
    for layer in model.encoder.layer:
        layer.mlp = GatedByGelu(config.hidden_size, config.intermediate_size, config.layer_norm_eps)
        del layer.intermediate, layer.output
        layer.feed_forward_chunk = layer.mlp.forward
    model.register_forward_pre_hook(with_bias, with_kwargs=True)
    return model


def exact_sines(model: Any) -> None:
    """RoFormer's table of sines and cosines, in the type of the model."""
    table = model.encoder.embed_positions.weight
    half = table.shape[1] // 2
    angle = torch.arange(len(table))[:, None] / 10_000.0 ** (torch.arange(half, dtype=table.dtype) / half)
    table.data = torch.cat((angle.sin(), angle.cos()), dim=1)


def rounded_sines(model: Any) -> None:
    """AIMv2's sines of rows and columns as they are in float32, which is our table of them."""

    def rounded(module: Any, given: Any, found: Tensor) -> Tensor:
        from transformers.models.aimv2 import modeling_aimv2 as theirs

        side = given[0].shape[-1] // module.patch_size
        exact = theirs.build_2d_sinusoidal_position_embedding(side, side, found.shape[-1], dtype=found.dtype)
        columns_first = torch.cat(exact.chunk(2, dim=-1)[::-1], dim=-1)
        return found + (torch.from_numpy(columns_first.numpy().astype(np.float32)) - columns_first)

    model.embeddings.register_forward_hook(rounded)


def float64_sines(model: Any) -> None:
    """VideoMAE's table of sines in the type of the model."""
    places, width = model.embeddings.num_patches, model.config.hidden_size
    pair = torch.arange(width) // 2 * 2
    angle = torch.arange(places)[:, None].double() / 10_000.0 ** (pair.double() / width)
    table = torch.where(torch.arange(width) % 2 == 0, angle.sin(), angle.cos())
    model.embeddings.position_embeddings = table[None].to(torch.get_default_dtype())


def without_predictor(model: Any) -> Any:
    """V-JEPA 2's encoder: the whole model also predicts every tubelet from the others."""
    model.register_forward_pre_hook(
        lambda module, given, options: (given, {**options, "skip_predictor": True}), with_kwargs=True
    )
    return model


def in_order(pixels: Tensor) -> dict[str, Any]:
    """ViT-MAE sorts its patches by this noise."""
    return {"noise": torch.arange((pixels.shape[-1] // 4) ** 2, dtype=torch.float32)[None]}


def detection_first(model: Any) -> Any:
    """YOLOS with its detection tokens before the patches, as here."""

    def moved(module: Any, given: Any, found: Any) -> Any:
        n = module.config.num_detection_tokens
        last = found.last_hidden_state.shape[1] - n
        order = [0, *range(last, last + n), *range(1, last)]
        found.last_hidden_state = found.last_hidden_state[:, order]
        if found.attentions is not None:
            found.attentions = tuple(one[:, :, order][..., order] for one in found.attentions)
        return found

    model.register_forward_hook(moved)
    return model


def weights_of_scores(model: Any) -> Any:
    """SqueezeBERT, which returns scores as its maps, with the softmax of them."""

    def softmax(module: Any, given: Any, found: Any) -> Any:
        if found.attentions is not None:
            found.attentions = tuple(one.softmax(-1) for one in found.attentions)
        return found

    model.register_forward_hook(softmax)
    return model


def weights_in_blocks(model: Any) -> Any:
    """Granite Speech, which returns no maps, with those of its definition: the softmax inside each block."""
    maps: list[Tensor] = []
    hooks: list[Any] = []

    def weights(module: Any, given: Any, options: Any, found: Any) -> None:
        x = module.pre_norm(given[0])
        q, k = module.to_q(x), module.to_kv(x).chunk(2, dim=-1)[0]
        q, k = (one.unflatten(-1, (module.num_heads, -1)).transpose(1, 2) for one in (q, k))  # [B, H, T, K]
        places = torch.arange(x.shape[1])
        distances = (places[:, None] - places).clamp(-module.max_pos_emb, module.max_pos_emb) + module.max_pos_emb
        by_distance = torch.einsum("bhik,ijk->bhij", q, module.rel_pos_emb(distances))
        apart = places[:, None] // module.context_size != places // module.context_size
        scores = ((q @ k.transpose(-1, -2) + by_distance) * module.scale).masked_fill(apart, -torch.inf)
        maps.append(scores.softmax(-1))

    def asked(module: Any, given: Any, options: Any) -> None:
        if options.get("output_attentions"):
            hooks.extend(layer.attn.register_forward_hook(weights, with_kwargs=True) for layer in module.layers)

    def returned(module: Any, given: Any, found: Any) -> Any:
        if hooks:
            found.attentions = tuple(maps)
        for hook in hooks:
            hook.remove()
        hooks.clear()
        maps.clear()
        return found

    model.register_forward_pre_hook(asked, with_kwargs=True)
    model.register_forward_hook(returned)
    return model


def merged(model: Any) -> Any:
    """SEW without the layer that divides its tokens into steps again, and without the zeros after them."""

    def cut(module: Any, given: Any, found: Any) -> Any:
        n_tokens = found.last_hidden_state.shape[1] // module.config.squeeze_factor
        found.last_hidden_state = found.last_hidden_state[:, :n_tokens]
        return found

    model.encoder.upsample = nn.Identity()
    model.register_forward_hook(cut)
    return model


YARN = {"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
GEMMA_KINDS = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 9}
NOMIC_EXPERTS = {
    "n_embd": 48, "n_head": 6, "n_inner": 52, "n_layer": 4, "n_positions": 211, "vocab_size": 99, "num_experts": 5,
    "activation_function": "gelu", "type_vocab_size": 1, **ROBERTA_IDS,
}  # fmt: skip
#: The factor of weights is a power of 2, so that float64 starts from the same numbers on both sides.
GRANITE = {
    "embedding_multiplier": 12.0,
    "attention_multiplier": 0.125,
    "residual_multiplier": 0.25,
    "logits_scaling": 8.0,
}
#: With 4 or 9 layers, the factor that follows from their number is whole.
ESMC = {**SIZES, **ROBERTA_IDS, "mask_token_id": 4}
QUERIES = r"SelfAttention\.q\."
DISTANCES = {
    "relative_attention": True,
    "pos_att_type": "p2c|c2p",
    "position_biased_input": False,
    "type_vocab_size": 0,
}
LAYOUTLMV3 = {
    **SIZES,
    **ROBERTA_IDS,
    "hidden_size": 96,
    "coordinate_size": 18,
    "shape_size": 12,
    "rel_pos_bins": 16,
    "rel_2d_pos_bins": 24,
    "max_rel_2d_pos": 300,
    "input_size": 64,
}
#: Paths of four steps, of three known tags.
MARKUPLM = {
    **SIZES,
    **ROBERTA_IDS,
    "max_depth": 4,
    "xpath_unit_hidden_size": 5,
    "max_xpath_tag_unit_embeddings": 7,
    "max_xpath_subs_unit_embeddings": 14,
    "tag_pad_id": 5,
    "subs_pad_id": 13,
}
TAGS = {"tags_dict": {"div": 0, "p": 1, "b": 2, "td": 3}, "max_depth": 4, "max_width": 12, "pad_width": 13}
#: What transformers calls the two halves of a place in a tree.
XPATHS = ("xpath_tags_seq", "xpath_subs_seq")
#: Each head has 16 numbers, and 4 in the stream of boxes.
LILT = {**SIZES, **ROBERTA_IDS, "hidden_size": 96, "intermediate_size": 56}
XLM = {
    "emb_dim": 48,
    "n_heads": 6,
    "n_layers": 3,
    "vocab_size": 99,
    "max_position_embeddings": 211,
    "pad_token_id": 0,
    "pad_index": 0,
    "n_langs": 2,
}
T5 = {"d_model": 48, "d_kv": 10, "d_ff": 52, "num_layers": 3, "num_heads": 6, "vocab_size": 99, "pad_token_id": 0}
BART = {
    "d_model": 48,
    "encoder_layers": 3,
    "decoder_layers": 1,
    "encoder_attention_heads": 6,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 52,
    "decoder_ffn_dim": 52,
    "vocab_size": 99,
    "max_position_embeddings": 211,
    **ROBERTA_IDS,
}
LED = {**BART, "max_encoder_position_embeddings": 211, "max_decoder_position_embeddings": 211, "attention_window": 8}
LONGT5 = {**T5, "local_radius": 7, "encoder_attention_type": "local"}
QUARTER = {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.25}
T5GEMMA = {**WIDE, **GEMMA_KINDS, "query_pre_attn_scalar": 12, "attn_logit_softcapping": 5.0}
TEXTS = {
    "llama": Case("Llama", "Llama", WIDE),
    "llama, untied, biased": Case(
        "Llama", "Llama", {**WIDE, "attention_bias": True, "mlp_bias": True}, "LlamaForCausalLM"
    ),
    "llama, llama3": Case("Llama 3.1", "Llama", {**WIDE, "rope_parameters": LLAMA3}),
    "llama, yarn": Case("Llama, YaRN", "Llama", {**WIDE, "rope_parameters": YARN}),
    "llama, linear": Case(
        "Llama, linear",
        "Llama",
        {**WIDE, "rope_parameters": {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0}},
    ),
    "llama, dynamic": Case(
        "Llama",
        "Llama",
        {**WIDE, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 500.0, "factor": 3.0}},
    ),
    "mistral": Case("Mistral", "Mistral", {**WIDE, "sliding_window": 7}),
    "qwen2": Case("Qwen2", "Qwen2", {**WIDE, "use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1}),
    "qwen3": Case("Qwen3", "Qwen3", WIDE, "Qwen3ForCausalLM"),
    "gemma": Case("Gemma", "Gemma", WIDE, gains_from_one=True),
    "gemma2": Case(
        "Gemma 2",
        "Gemma2",
        {**WIDE, **GEMMA_KINDS, "query_pre_attn_scalar": 12, "attn_logit_softcapping": 5.0},
        gains_from_one=True,
    ),
    "gemma3": Case("Gemma 3", "Gemma3Text", {**WIDE, **GEMMA_KINDS, "query_pre_attn_scalar": 12}, gains_from_one=True),
    "gemma3, both ways": Case(
        "EmbeddingGemma",
        "Gemma3Text",
        {**WIDE, **GEMMA_KINDS, "query_pre_attn_scalar": 12, "use_bidirectional_attention": True},
        gains_from_one=True,
    ),
    "granite": Case("Granite", "Granite", {**WIDE, **GRANITE}),
    "granite, untied, biased": Case(
        "Granite", "Granite", {**WIDE, **GRANITE, "attention_bias": True, "mlp_bias": True}, "GraniteForCausalLM"
    ),
    "neobert": Case("NeoBERT", "NeoBert", SIZES),
    "esmc": Case("ESM C", "Esmc", {**ESMC, "num_hidden_layers": 9}, "EsmcForMaskedLM", special=ROBERTA),
    "esmc, biased": Case(
        "ESM C", "Esmc", {**ESMC, "num_hidden_layers": 4, "attention_bias": True, "mlp_bias": True}, special=ROBERTA
    ),
    "eurobert": Case("EuroBERT", "EuroBert", {**WIDE, "mask_token_id": 4}),
    "gpt2": Case(
        "GPT-2", "GPT2", {"n_embd": 48, "n_head": 6, "n_layer": 3, "vocab_size": 99, "n_positions": 211, **IDS}
    ),
    "nomic": Case("NomicBERT", "NomicBert", {**SIZES, **IDS}),
    "nomic, experts": Case("NomicBERT", "NomicExperts", NOMIC_EXPERTS, special=ROBERTA),
    "nomic, plain": Case(
        "NomicBERT", "NomicExperts", {**NOMIC_EXPERTS, "num_experts": 0, "type_vocab_size": 2}, special=ROBERTA
    ),
    "nomic, experts in every third layer": Case(
        "NomicBERT",
        "NomicExperts",
        {**NOMIC_EXPERTS, "n_layer": 5, "moe_every_n_layers": 3, "moe_top_k": 1},
        special=ROBERTA,
    ),
    "gte": Case("GTE", "Gte", {**SIZES, **IDS, "type_vocab_size": 0}),
    "gte, segments": Case("GTE", "Gte", {**SIZES, **IDS, "type_vocab_size": 1}),
    "jina": Case("Jina v3", "JinaEmbeddingsV3", {**SIZES, **IDS}),
    "jina v2": Case(
        "BERT",
        "Bert",
        {**SIZES, **IDS, "position_embedding_type": "alibi", "feed_forward_type": "geglu"},
        altered=jina_v2,
    ),
    "deberta": Case("DeBERTa", "Deberta", {**SIZES, **DISTANCES, "max_relative_positions": 20}),
    "deberta, one term": Case(
        "DeBERTa", "Deberta", {**SIZES, **DISTANCES, "pos_att_type": "c2p", "position_biased_input": True}
    ),
    "deberta-v2": Case("DeBERTa v2", "DebertaV2", {**SIZES, **DISTANCES}),
    "deberta-v3": Case(
        "DeBERTa v3",
        "DebertaV2",
        {**SIZES, **DISTANCES, "position_buckets": 16, "norm_rel_ebd": "layer_norm", "share_att_key": True},
        "DebertaV2ForMaskedLM",
        lengths=(3, 40, 150),
    ),
    "esm2": Case(
        "ESM-2",
        "Esm",
        {**SIZES, **ROBERTA_IDS, "position_embedding_type": "rotary", "token_dropout": True, "mask_token_id": 4},
        special=ROBERTA,
    ),
    "esm1": Case(
        "ESM-1b", "Esm", {**SIZES, **ROBERTA_IDS, "emb_layer_norm_before": True, "mask_token_id": 4}, special=ROBERTA
    ),
    "xlm-roberta-xl": Case("XLM-RoBERTa-XL", "XLMRobertaXL", {**SIZES, **ROBERTA_IDS}, special=ROBERTA),
    "xmod": Case("X-MOD", "Xmod", {**SIZES, **ROBERTA_IDS, **LANGUAGES}, special=ROBERTA),
    "xmod, norms first": Case(
        "X-MOD",
        "Xmod",
        {**SIZES, **ROBERTA_IDS, **LANGUAGES, "pre_norm": True, "adapter_layer_norm": True, "ln_before_adapter": False},
        "XmodForMaskedLM",
        special=ROBERTA,
    ),
    "xmod, own norm": Case(
        "X-MOD", "Xmod", {**SIZES, **ROBERTA_IDS, **LANGUAGES, "adapter_layer_norm": True}, special=ROBERTA
    ),
    "data2vec-text": Case("Data2Vec, text", "Data2VecText", {**SIZES, **ROBERTA_IDS}, special=ROBERTA),
    "clap": Case("CLAP, text", "ClapText", {**SIZES, **ROBERTA_IDS}, special=ROBERTA),
    "roformer": Case(
        "RoFormer", "RoFormer", {**SIZES, **IDS, "embedding_size": 24}, kept="embed_positions", exact=exact_sines
    ),
    "roformer, own table": Case("RoFormer", "RoFormer", {**SIZES, **IDS}, softer="embed_positions"),
    "ernie": Case("ERNIE", "Ernie", {**SIZES, **IDS}),
    "ernie, tasks": Case("ERNIE", "Ernie", {**SIZES, **IDS, "use_task_id": True}),
    "megatron": Case("MegatronBERT", "MegatronBert", {**SIZES, **IDS}),
    "rembert": Case("RemBERT", "RemBert", {**SIZES, **IDS, "input_embedding_size": 24, "output_embedding_size": 30}),
    "dpr": Case(
        "DPR",
        "DPR",
        {**SIZES, **IDS},
        "DPRQuestionEncoder",
        encode=lambda model: model.question_encoder.bert_model,
    ),
    "splinter": Case("Splinter", "Splinter", {**SIZES, **IDS}),
    "squeezebert": Case(
        "SqueezeBERT",
        "SqueezeBert",
        {**SIZES, **IDS, "embedding_size": 48, "v_groups": 2, "post_attention_groups": 3},
        encode=weights_of_scores,
    ),
    "layoutlm": Case("LayoutLM", "LayoutLM", {**SIZES, **IDS}, boxes=True),
    "layoutlm, no boxes": Case("LayoutLM", "LayoutLM", {**SIZES, **IDS, "max_2d_position_embeddings": 20}),
    "layoutlmv3": Case("LayoutLMv3", "LayoutLMv3", LAYOUTLMV3, special=ROBERTA, softer="query", boxes=True),
    "layoutlmv3, no boxes": Case("LayoutLMv3", "LayoutLMv3", LAYOUTLMV3, special=ROBERTA, softer="query"),
    "lilt": Case("LiLT", "Lilt", LILT, softer="query", boxes=True),
    "lilt, no boxes": Case("LiLT", "Lilt", {**LILT, **IDS}, softer="query"),
    "markuplm": Case(
        "MarkupLM",
        "MarkupLM",
        MARKUPLM,
        special=ROBERTA,
        nodes=True,
        files={"tokenizer_config.json": {"tokenizer_class": "MarkupLMTokenizer", **TAGS}},
    ),
    "bros": Case(
        "BROS, text",
        "Bros",
        {**SIZES, "hidden_size": 128, "num_attention_heads": 8, "pad_token_id": 0},
        softer="query",
        more=lambda ids: {"bbox": torch.zeros(*ids.shape, 4)},
    ),
    "big_bird": Case("BigBird", "BigBird", {**SIZES, **IDS, "block_size": 4}, maps=False),
    "big_bird, full": Case(
        "BigBird",
        "BigBird",
        {**SIZES, **IDS, "attention_type": "original_full", "rescale_embeddings": True, "use_bias": False},
    ),
    "longformer": Case(
        "Longformer", "Longformer", {**SIZES, **ROBERTA_IDS, "attention_window": 8}, special=ROBERTA, banded=True
    ),
    "xlm": Case("XLM", "XLM", XLM),
    "flaubert": Case("FlauBERT", "Flaubert", XLM),
    "t5": Case("T5", "T5", T5, "T5EncoderModel", lengths=(3, 40, 200), softer=QUERIES),
    "t5, gated": Case("T5 v1.1", "T5", {**T5, "feed_forward_proj": "gated-gelu"}, "T5EncoderModel", softer=QUERIES),
    "t5, decoder": Case(
        "T5", "T5", T5, "T5ForConditionalGeneration", encode=lambda model: model.get_encoder(), softer=QUERIES
    ),
    "mt5": Case("mT5", "MT5", {**T5, "feed_forward_proj": "gated-gelu"}, "MT5EncoderModel", softer=QUERIES),
    "umt5": Case("UMT5", "UMT5", {**T5, "feed_forward_proj": "gated-gelu"}, "UMT5EncoderModel", softer=QUERIES),
    "bart": Case("BART", "Bart", BART, encode=lambda model: model.encoder, special=ROBERTA),
    "mbart": Case(
        "mBART", "MBart", {**BART, "scale_embedding": True}, encode=lambda model: model.encoder, special=ROBERTA
    ),
    "pegasus": Case("Pegasus", "Pegasus", {**BART, "pad_token_id": 0}, encode=lambda model: model.encoder),
    "led": Case("LED", "LED", LED, encode=lambda model: model.encoder, special=ROBERTA, banded=True),
    "bigbird_pegasus": Case(
        "BigBird-Pegasus",
        "BigBirdPegasus",
        {**BART, "pad_token_id": 0, "block_size": 4},
        encode=lambda model: model.encoder,
        maps=False,
    ),
    "bigbird_pegasus, full": Case(
        "BigBird-Pegasus",
        "BigBirdPegasus",
        {**BART, "pad_token_id": 0, "attention_type": "original_full", "use_bias": True, "scale_embedding": False},
        encode=lambda model: model.encoder,
    ),
    "longt5": Case("LongT5, local", "LongT5", LONGT5, "LongT5EncoderModel", softer=QUERIES, maps=False),
    "longt5, gated": Case(
        "LongT5, local",
        "LongT5",
        {**LONGT5, "feed_forward_proj": "gated-gelu"},
        "LongT5EncoderModel",
        softer=QUERIES,
        maps=False,
    ),
    "marian": Case(
        "Marian",
        "Marian",
        {**BART, "pad_token_id": 0, "scale_embedding": True},
        encode=lambda model: model.encoder,
        softer="shared|q_proj",
    ),
    "m2m100": Case("M2M100, NLLB", "M2M100", BART, encode=lambda model: model.encoder, special=ROBERTA),
    "modernbert decoder": Case(
        "ModernBERT decoder",
        "ModernBertDecoder",
        {**SIZES, **IDS, "cls_token_id": 2, "sep_token_id": 3, "local_attention": 14},
    ),
    "ultrabert": Case("UltraBERT", "Ultrabert", {**WIDE, "sliding_window": 5}),
    "t5gemma": Case(
        "T5Gemma",
        "T5Gemma",
        {"encoder": T5GEMMA, "decoder": T5GEMMA, **IDS},
        encode=lambda model: model.encoder,
        gains_from_one=True,
    ),
    "gpt_neox": Case("GPT-NeoX, Pythia", "GPTNeoX", {**SIZES, **IDS, "rope_parameters": QUARTER}),
    "gpt_neox, in turn": Case("GPT-NeoX", "GPTNeoX", {**SIZES, **IDS, "use_parallel_residual": False}),
    "phi": Case("Phi", "Phi", {**SIZES, **IDS, "num_key_value_heads": 2}),
    "phi3": Case("Phi-3", "Phi3", {**SIZES, **IDS, "sliding_window": 7}),
    "gptj": Case(
        "GPT-J",
        "GPTJ",
        {"n_embd": 48, "n_head": 6, "n_layer": 3, "vocab_size": 99, "n_positions": 211, "rotary_dim": 4, **IDS},
    ),
    "gpt_neo": Case(
        "GPT-Neo",
        "GPTNeo",
        {
            "hidden_size": 48,
            "num_heads": 6,
            "num_layers": 3,
            "attention_types": [[["local", "global"], 1], [["local"], 1]],
            "window_size": 5,
            "vocab_size": 99,
            "max_position_embeddings": 211,
            **IDS,
        },
        softer=r"attention\.q_proj",
    ),
    "mpt": Case(
        "MPT", "Mpt", {"d_model": 48, "n_heads": 6, "n_layers": 3, "vocab_size": 99, "max_seq_len": 211, **IDS}
    ),
    "starcoder2": Case("StarCoder2", "Starcoder2", {**SIZES, **IDS, "num_key_value_heads": 2, "sliding_window": 7}),
    "bloom": Case("BLOOM", "Bloom", {"hidden_size": 48, "n_head": 6, "n_layer": 3, "vocab_size": 99, **IDS}),
    "ministral": Case("Ministral", "Ministral", {**WIDE, "sliding_window": 8}),
    "mixtral": Case(
        "Mixtral", "Mixtral", {**WIDE, "num_local_experts": 5, "num_experts_per_tok": 2, "intermediate_size": 26}
    ),
    "qwen3_moe": Case(
        "Qwen3, experts", "Qwen3Moe", {**WIDE, "num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 22}
    ),
    "olmoe": Case(
        "OLMoE",
        "Olmoe",
        {**SIZES, **IDS, "num_key_value_heads": 2, "num_experts": 7, "num_experts_per_tok": 2, "intermediate_size": 26},
    ),
    "nanochat": Case("nanochat", "NanoChat", {**SIZES, **IDS, "num_key_value_heads": 2}),
    "opt": Case("OPT", "OPT", {**SIZES, **IDS, "ffn_dim": 52, "word_embed_proj_dim": 48}),
}
TITLES = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "xlm-roberta": "XLM-RoBERTa",
    "camembert": "CamemBERT",
    "mpnet": "MPNet",
    "roberta-prelayernorm": "RoBERTa-PreLayerNorm",
    "distilbert": "DistilBERT",
    "electra": "ELECTRA",
    "albert": "ALBERT",
    "modernbert": "ModernBERT",
}
OLDER = {
    name: Case(
        title,
        reference.FAMILIES[name].name,
        {**reference.FAMILIES[name].fields, reference.FAMILIES[name].layers_field: 3},
        special=reference.FAMILIES[name].special,
    )
    for name, title in TITLES.items()
}
TEXTS = {**OLDER, **TEXTS}
IMAGE = {
    "hidden_size": 48,
    "num_attention_heads": 6,
    "intermediate_size": 52,
    "num_hidden_layers": 3,
    "image_size": 24,
    "patch_size": 4,
}
SOUND = {
    **sounds.CONVOLUTIONS,
    "hidden_size": 48,
    "num_attention_heads": 6,
    "intermediate_size": 52,
    "num_hidden_layers": 3,
    "num_codevectors_per_group": 4,
}
CONFORMER = {"hidden_act": "swish", "conv_depthwise_kernel_size": 7}
CLIPPED = {"left_max_position_embeddings": 4, "right_max_position_embeddings": 2, "layer_norm_eps": 1e-4}
PARAKEET = {
    "hidden_size": 48, "num_attention_heads": 6, "intermediate_size": 52, "num_hidden_layers": 3, "num_mel_bins": 80,
    "subsampling_factor": 4, "subsampling_conv_channels": 10, "conv_kernel_size": 5,
}  # fmt: skip
IMAGES = {
    "vit": Case("ViT", "ViT", IMAGE),
    "deit": Case("DeiT", "DeiT", IMAGE),
    "dinov2": Case("DINOv2", "Dinov2", IMAGE),
    "dinov2, gated": Case("DINOv2", "Dinov2", {**IMAGE, "use_swiglu_ffn": True}),
    "dinov2, registers": Case("DINOv2, registers", "Dinov2WithRegisters", {**IMAGE, "num_register_tokens": 3}),
    "beit": Case("BEiT", "Beit", {**IMAGE, "use_relative_position_bias": True}),
    "beit, shared": Case(
        "BEiT",
        "Beit",
        {
            **IMAGE,
            "use_shared_relative_position_bias": True,
            "use_absolute_position_embeddings": True,
            "use_mean_pooling": False,
            "use_mask_token": True,
        },
    ),
    "data2vec-vision": Case("Data2Vec, images", "Data2VecVision", {**IMAGE, "use_relative_position_bias": True}),
    "dinov3": Case("DINOv3", "DINOv3ViT", {**IMAGE, "num_register_tokens": 2}),
    "dinov3, gated": Case("DINOv3", "DINOv3ViT", {**IMAGE, "use_gated_mlp": True, "hidden_act": "silu"}),
    "vit_mae": Case("ViT-MAE", "ViTMAE", {**IMAGE, "mask_ratio": 0.0}, more=in_order),
    "vit_msn": Case("ViT-MSN", "ViTMSN", IMAGE),
    "ijepa": Case("I-JEPA", "IJepa", IMAGE),
    "aimv2": Case("AIMv2, images", "Aimv2Vision", {**IMAGE, "use_head": False}),
    "aimv2, native": Case(
        "AIMv2, images",
        "Aimv2Vision",
        {**IMAGE, "use_head": False, "is_native": True, "qkv_bias": True, "mlp_bias": True},
        exact=rounded_sines,
    ),
    "yolos": Case(
        "YOLOS", "Yolos", {**IMAGE, "image_size": [24, 40], "num_detection_tokens": 5}, encode=detection_first
    ),
    "yolos, positions once": Case(
        "YOLOS",
        "Yolos",
        {**IMAGE, "image_size": [28, 24], "num_detection_tokens": 3, "use_mid_position_embeddings": False},
        encode=detection_first,
    ),
}
#: Blocks of four tokens, of which the last one is not full.
GRANITE_SPEECH = {
    "input_dim": 160,
    "num_layers": 3,
    "hidden_dim": 48,
    "num_heads": 6,
    "dim_head": 10,
    "feedforward_mult": 2,
    "output_dim": 17,
    "context_size": 4,
    "max_pos_emb": 7,
    "conv_kernel_size": 5,
}
SOUNDS = {
    "ast": Case("AST", "AST", {**sounds.FAMILIES["ast"][1], "num_hidden_layers": 3}),
    "whisper": Case(
        "Whisper",
        "Whisper",
        {**sounds.FAMILIES["whisper"][1], "encoder_layers": 3},
        encode=lambda model: model.get_encoder(),
    ),
    "wav2vec2": Case("Wav2Vec2", "Wav2Vec2", SOUND),
    "hubert": Case("HuBERT", "Hubert", {**SOUND, **sounds.STABLE}),
    "data2vec-audio": Case(
        "Data2Vec, sound",
        "Data2VecAudio",
        {**SOUND, "num_conv_pos_embeddings": 3, "conv_pos_kernel_size": 6},
    ),
    "moonshine": Case(
        "Moonshine",
        "Moonshine",
        {
            "hidden_size": 48,
            "intermediate_size": 52,
            "encoder_num_hidden_layers": 3,
            "decoder_num_hidden_layers": 1,
            "encoder_num_attention_heads": 4,
            "decoder_num_attention_heads": 4,
            "vocab_size": 99,
        },
        encode=lambda model: model.get_encoder(),
    ),
    "sew": Case("SEW", "SEW", {**SOUND, "squeeze_factor": 3}, encode=merged),
    "sew, one width": Case(
        "SEW", "SEW", {**SOUND, "conv_dim": (20, 24, 48), "num_conv_pos_embeddings": 15}, encode=merged
    ),
    "sew-d": Case(
        "SEW-D", "SEWD", {**SOUND, "position_buckets": 4, "max_position_embeddings": 9}, encode=merged, softer="query"
    ),
    "sew-d, one term": Case(
        "SEW-D",
        "SEWD",
        {**SOUND, "pos_att_type": ["c2p"], "share_att_key": False, "norm_rel_ebd": "none"},
        encode=merged,
    ),
    "wavlm": Case("WavLM", "WavLM", {**SOUND, "num_buckets": 24, "max_bucket_distance": 40}, averaged=True),
    "wavlm, pre-norm": Case("WavLM", "WavLM", {**SOUND, **sounds.STABLE, "num_buckets": 24}, averaged=True),
    "wav2vec2-conformer": Case("Wav2Vec2-Conformer", "Wav2Vec2Conformer", {**SOUND, **CONFORMER}),
    "wav2vec2-conformer, rotary": Case(
        "Wav2Vec2-Conformer", "Wav2Vec2Conformer", {**SOUND, **CONFORMER, "position_embeddings_type": "rotary"}
    ),
    "wav2vec2-bert": Case("Wav2Vec2-BERT", "Wav2Vec2Bert", {**SOUND, **CONFORMER, **CLIPPED}),
    "parakeet": Case("Parakeet", "ParakeetEncoder", PARAKEET, model="ParakeetEncoder"),
    "granite_speech": Case(
        "Granite Speech",
        "GraniteSpeechEncoder",
        GRANITE_SPEECH,
        model="GraniteSpeechCTCEncoder",
        encode=weights_in_blocks,
    ),
    "unispeech": Case("UniSpeech", "UniSpeech", SOUND),
    "unispeech-sat": Case("UniSpeech-SAT", "UniSpeechSat", {**SOUND, **sounds.STABLE}),
}
#: Patches of 8 pixels: without a size in config.json, transformers' has thousands of them.
VIDEO = {**IMAGE, "patch_size": 8, "num_frames": 8}
VIDEOS = {
    "videomae": Case("VideoMAE", "VideoMAE", VIDEO, exact=float64_sines),
    "videomae, first token": Case(
        "VideoMAE",
        "VideoMAE",
        {**VIDEO, "num_frames": 7, "tubelet_size": 3, "use_mean_pooling": False, "qv_bias": False},
        exact=float64_sines,
    ),
}
#: Heads of 8 numbers, of which 6 rotate; of 15, of which 12 do, by pairs whose angles differ.
VJEPA2 = {
    "hidden_size": 48, "num_attention_heads": 6, "num_hidden_layers": 3, "mlp_ratio": 1.5, "crop_size": 24,
    "patch_size": 8, "frames_per_clip": 8, "pred_hidden_size": 24, "pred_num_attention_heads": 3,
    "pred_num_hidden_layers": 1, "pred_num_mask_tokens": 2,
}  # fmt: skip
VIDEOS |= {
    "vjepa2": Case("V-JEPA 2", "VJEPA2", VJEPA2, encode=without_predictor),
    "vjepa2, wide heads": Case(
        "V-JEPA 2",
        "VJEPA2",
        {**VJEPA2, "hidden_size": 45, "num_attention_heads": 3, "frames_per_clip": 6, "tubelet_size": 3},
        encode=without_predictor,
    ),
}
ALL = {**TEXTS, **IMAGES, **VIDEOS, **SOUNDS}
PIXELS = torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(0))
FRAMES = torch.randn(1, 8, 3, 24, 24, generator=torch.Generator().manual_seed(0))


class InFloat64(TorchFunctionMode):
    """Inside, a conversion to float32 gives float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.float:
            return args[0].double()
        args = tuple(torch.float64 if value is torch.float32 else value for value in args)
        kwargs = {name: torch.float64 if value is torch.float32 else value for name, value in (kwargs or {}).items()}
        return func(*args, **kwargs)


@contextmanager
def numbers_of(dtype: torch.dtype) -> Iterator[None]:
    """Inside, new tensors have this type; in float64, everything is computed in it."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        if dtype == torch.float64:
            with InFloat64():
                yield
        else:
            yield
    finally:
        torch.set_default_dtype(before)


def write(case: Case, model: nn.Module, folder: Path) -> Path:
    """The checkpoint, with a tokenizer whose words are their own ids."""
    model.save_pretrained(folder)
    if case in TEXTS.values():
        name = "roberta" if case.special == ROBERTA else "bert"
        reference.write_tokenizer(folder, name)
    for name, fields in case.files.items():
        (folder / name).write_text(json.dumps(fields), encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Differences:
    """The largest differences from the reference: of the output and of the gradient of the tokens' table (as shares of
    the largest number, where that is above 1), and of all attention maps."""

    output: float
    maps: float
    gradient: float

    @property
    def largest(self) -> float:
        """Of all three."""
        return max(self.output, self.maps, self.gradient)


def ids_of(length: int, seed: int) -> list[int]:
    """Ids of words, none of them special."""
    draw = random.Random(seed)
    return [draw.randrange(5, 99) for _ in range(length)]


def boxes_of(n_words: int, seed: int = 0, largest: int = 1000) -> list[tuple[int, int, int, int]]:
    """A box for each word, anywhere on the page."""
    draw = random.Random(seed)
    found = []
    for _ in range(n_words):
        (left, right), (upper, lower) = (sorted(draw.choices(range(largest + 1), k=2)) for _ in "xy")
        found.append((left, upper, right, lower))
    return found


def nodes_of(n_words: int, seed: int = 0) -> list[tuple[int, str]]:
    """Nodes of one to four words, anywhere in a tree: deeper than MARKUPLM's, with tags that it does not know."""
    draw, found = random.Random(seed), []
    while n_words:
        count = draw.randint(1, min(4, n_words))
        steps = (draw.choice(("p", "div", "b[2]", "td[7]", "li[9999]", "x-y")) for _ in range(draw.randint(1, 6)))
        found.append((count, "/" + "/".join(steps)))
        n_words -= count
    return found


def named_places(case: Case, places: Tensor | None) -> dict[str, Tensor]:
    """Places [T, P] as inputs of the reference."""
    if places is None:
        return {}
    return {"bbox": places[None]} if case.boxes else dict(zip(XPATHS, places[None].chunk(2, -1), strict=True))


def opened(case: Case) -> tuple[nn.Module, Any]:
    """The reference in float32, and our model of its files."""
    made = case.make()
    with tempfile.TemporaryDirectory() as place:
        return made, encoder.load(write(case, made, Path(place) / "model"), device="cpu")


def differences(case: Case, dtype: torch.dtype, both: tuple[nn.Module, Any] | None = None) -> Differences:
    """Ours and transformers' on the same weights and texts, one text at a time. both: from `opened`, unchanged."""
    made, ours = both or opened(case)
    assert not isinstance(ours, encoder.JointEncoder)
    with numbers_of(dtype):
        ours = dataclasses.replace(ours, encoder=copy.deepcopy(ours.encoder).to(dtype))
        theirs = _in_type(case, made, dtype)
        if isinstance(ours, encoder.TextEncoder):
            worst = [_of_text(case, ours, theirs, ids_of(length, length)) for length in case.lengths]
        else:
            worst = [_of_signal(case, ours, theirs, dtype)]
    return Differences(*(max(column) for column in zip(*worst, strict=True)))


def _in_type(case: Case, made: nn.Module, dtype: torch.dtype) -> Any:
    """The reference in a type: its weights are those of `made`, what it computes of its settings is of this type."""
    if dtype == torch.float32:
        rebuilt = copy.deepcopy(made)
    else:
        rebuilt = case.build().to(dtype)
        values = {
            name: value for name, value in made.named_parameters() if not case.kept or not re.search(case.kept, name)
        }
        values |= {name: value for name, value in made.named_buffers() if ".running_" in name}
        rebuilt.load_state_dict(values, strict=False)
    case.exact(rebuilt)
    return case.encode(rebuilt)


def _of_text(case: Case, ours: encoder.TextEncoder, theirs: Any, ids: list[int]) -> tuple[float, float, float]:
    """Output, maps and gradient."""
    text = " ".join(f"w{one}" for one in ids)
    boxes, nodes = boxes_of(len(ids)) if case.boxes else None, nodes_of(len(ids)) if case.nodes else None
    trace = ours.trace(text, boxes=boxes, nodes=nodes)
    row, more = torch.tensor([trace.ids]), named_places(case, trace.places)
    found = theirs(input_ids=row, output_attentions=True, output_hidden_states=True, **case.more(row), **more)
    expected = _output(found)
    maps = [_whole(one[0].detach(), case, len(trace.ids)) for one in found.attentions if case.maps]
    assert len(maps) == (ours.config.n_layers if case.maps else 0)
    gradient = _gradient(ours.encoder, theirs, row, expected[0], None if trace.places is None else trace.places[None])
    output = _far(trace.output, expected[0].detach()) / max(1.0, float(expected.detach().abs().max()))
    different = max(_far(trace.layer_attention(layer), one) for layer, one in enumerate(maps)) if maps else 0.0
    return output, different, gradient


def _of_signal(case: Case, ours: Any, theirs: Any, dtype: torch.dtype) -> tuple[float, float, float]:
    """The same of an image or a sound; the gradient is that of the input."""
    if ours.takes == "image":
        given = PIXELS.to(dtype)
        trace = ours.trace_image(given[0])
    elif ours.takes == "video":
        given = FRAMES[:, : ours.patches.frames].to(dtype)
        trace = ours.trace_pixels(given[0])
    else:
        sound = sounds.tone(0.2)
        given = ours.prepare(sound)[None].to(dtype)
        trace = ours.trace(sound)
    given = given.clone().requires_grad_()
    found = theirs(given, output_attentions=True, output_hidden_states=True, **case.more(given))
    output = _far(trace.output, found.last_hidden_state[0].detach())
    own = [trace.layer_attention(layer) for layer in range(len(found.attentions))]
    own = [one.mean(0, keepdim=True).expand_as(one) if case.averaged else one for one in own]
    maps = max(_far(one, other[0].detach()) for one, other in zip(own, found.attentions, strict=True))
    weights = torch.randn(*trace.output.shape, generator=torch.Generator().manual_seed(1))
    (expected,) = torch.autograd.grad((found.last_hidden_state[0] * weights).sum(), given)
    (gradient,) = torch.autograd.grad((ours.encoder(given)[0] * weights).sum(), given)
    scale = max(1.0, float(found.last_hidden_state.detach().abs().max()))
    return output / scale, maps, _far(gradient, expected) / max(1.0, float(expected.abs().max()))


def _output(found: Any) -> Tensor:
    """The last layer's output, of a model with or without a head."""
    state = found.get("last_hidden_state")
    if state is None:
        state = found["hidden_states" if "hidden_states" in found else "encoder_hidden_states"][-1]
    return state


def _whole(pattern: Tensor, case: Case, n_tokens: int) -> Tensor:
    """[H, T, T]; of Longformer's bands [T, H, 2w + 1]."""
    if not case.banded:
        return pattern[:, :n_tokens, :n_tokens]
    half = pattern.shape[-1] // 2
    whole = pattern.new_zeros(pattern.shape[0], n_tokens, n_tokens)
    for i in range(n_tokens):
        for j in range(max(0, i - half), min(n_tokens, i + half + 1)):
            whole[:, i, j] = pattern[:, i, j - i + half]
    return whole


def _gradient(ours: Encoder, theirs: Any, row: Tensor, output: Tensor, places: Tensor | None = None) -> float:
    """Of a random sum of the outputs with respect to the tokens' table. output [T, D]: the reference's."""
    weights = torch.randn(*output.shape, generator=torch.Generator().manual_seed(1))
    (expected,) = torch.autograd.grad((output * weights).sum(), theirs.get_input_embeddings().weight)
    own = ours.embedding.tokens.weight
    segments = torch.zeros_like(row) if ours.config.n_segments else None
    (gradient,) = torch.autograd.grad((ours(row, None, segments, places=places)[0] * weights).sum(), own)
    return _far(gradient, expected) / max(1.0, float(expected.abs().max()))


def _far(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).abs().max())

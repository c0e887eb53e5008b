"""BERT (Devlin et al. 2019) and the families that kept its names, norms elsewhere, other tables or positions."""

import dataclasses
from collections.abc import Callable
from typing import Any

from encoder.checkpoints.families.family import ClassifierNames, Family, HeadNames
from encoder.checkpoints.families.names import HEADS_DROPPED, IN_GATE, OLD_NORMS, blocks, both, layer
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import NO_PADDING, STANDARD, Fields, Key, unsupported
from encoder.checkpoints.families.rotary import rotary_fields
from encoder.errors import quoted
from encoder.model.boxes import Boxes
from encoder.model.config import MOST, Patches
from encoder.model.mlm import MLMHeadConfig
from encoder.model.paths import MOST_STEPS, Paths


def masked_words(activation: str = "", default: str = "gelu") -> Callable[[Fields], MLMHeadConfig]:
    """A masked-word head with this activation; by default the encoder's, of which `default` is the default."""

    def read(fields: Fields) -> MLMHeadConfig:
        chosen: Any = activation or fields.activation("hidden_act", default)
        return MLMHeadConfig(chosen, fields.number("layer_norm_eps", 1e-12), tied=fields.tied)

    return read


TABLES = {
    "embedding.tokens.weight": "embeddings.word_embeddings.weight",
    "embedding.positions.table.weight": "embeddings.position_embeddings.weight",
    "embedding.segments.weight": "embeddings.token_type_embeddings.weight",
    **both("embedding.norm", "embeddings.LayerNorm"),
}
LAYER = "encoder.layer.{l}"
MAPS = layer(
    LAYER,
    "attention.self.query attention.self.key attention.self.value attention.output.dense",
    "intermediate.dense output.dense",
)
POST_NORMS = layer(LAYER, norms="attention.output.LayerNorm output.LayerNorm")
POOLER = both("pooler", "pooler.dense")


def head_at(place: str, config: Any, dense: str, norm: str) -> HeadNames:
    """A masked-word head whose parts are below one place on disk."""
    bias = (f"{place}.decoder.bias", f"{place}.bias")
    return HeadNames(config, f"{place}.{dense}", f"{place}.{norm}", bias, f"{place}.decoder.weight")


LM_HEAD = head_at("lm_head", masked_words("gelu"), "dense", "layer_norm")
#: Every family tags tokens with one linear map, ModernBERT excepted.
TAGGER = ClassifierNames()
#: BERT's classifier uses the pooler.
POOLED_CLASSIFIER = ClassifierNames(dense="{encoder}pooler.dense", options=lambda fields: {"activation": "tanh"})
#: RoBERTa's has a dense map of its own.
DENSE_CLASSIFIER = ClassifierNames(
    out="classifier.out_proj", dense="classifier.dense", options=lambda fields: {"activation": "tanh"}
)

BERT_CONFIG = STANDARD.but(n_segments=Key("type_vocab_size", 2))
BERT = Family(
    config=BERT_CONFIG,
    names=TABLES | MAPS | POST_NORMS | POOLER,
    prefixes=("bert.", ""),
    head=head_at("cls.predictions", masked_words(), "transform.dense", "transform.LayerNorm"),
    classifiers={"sequence": POOLED_CLASSIFIER, "token": TAGGER},
    dropped=HEADS_DROPPED | {r"cls\.seq_relationship\.(weight|bias)": "a next-sentence head"},
    renamed=OLD_NORMS,
)


#: Jina v2's feed-forward layers: their activation.
JINA_GATES = {"geglu": "gelu", "reglu": "relu"}


def jina_ffn(fields: Fields) -> dict[str, Any]:
    """A gated feed-forward layer without a bias of the maps into it."""
    return {"gated": True, "activation": JINA_GATES[str(fields.get("feed_forward_type"))], "ffn_in_bias": False}


#: Guenther et al. 2023 (jina-embeddings-v2): BERT with ALiBi in the place of positions, and a gated feed-forward layer.
JINA_V2 = BERT.but(
    {
        **blocks(IN_GATE, f"{LAYER}.mlp.gated_layers"),
        **both("layers.{l}.ffn.w_out", f"{LAYER}.mlp.wo"),
        **both("layers.{l}.ffn_norm", f"{LAYER}.mlp.layernorm"),
    },
    config=BERT_CONFIG.but(jina_ffn, position="alibi").allowing("position_embedding_type"),
)


def by_positions(fields: Fields) -> Family:
    """BERT, or Jina v2, whose config.json has BERT's model_type: its feed-forward layer tells.

    BERT itself does not read position_embedding_type, nor does it in transformers.
    """
    if fields.get("position_embedding_type") != "alibi" or fields.get("feed_forward_type") not in JINA_GATES:
        return BERT
    if "qk-post-norm" in str(fields.get("auto_map")):
        why = "each of its layers has two norms after attention; choose jina-embeddings-v2-base-en or -small-en"
        raise unsupported("auto_map", fields["auto_map"], why)
    return JINA_V2


def after_padding(fields: Fields, usual: int = 1) -> dict[str, Any]:
    """RoBERTa (Liu et al. 2019): positions count from the row after that of padding."""
    if fields.get("pad_token_id") == NO_PADDING:  # the row after -1 is row 0
        return {"pad_id": 1}
    pad = fields.pad_id(default=usual)
    return {"pad_id": pad, "position_offset": pad + 1, "pad_position": pad}


#: XLM-RoBERTa's and CamemBERT's too.
ROBERTA_CONFIG = BERT_CONFIG.but(after_padding)
ROBERTA = BERT.but(
    config=ROBERTA_CONFIG,
    prefixes=("roberta.", ""),
    head=LM_HEAD,
    classifiers={"sequence": DENSE_CLASSIFIER, "token": TAGGER},
    dropped=HEADS_DROPPED,
)
#: Baevski et al. 2022.
DATA2VEC_TEXT = ROBERTA.but(prefixes=("data2vec_text.", ""))
#: Wettig et al. 2022: norms before the sublayers, and a final norm.
ROBERTA_PRELAYERNORM = ROBERTA.but(
    {**layer(LAYER, norms="attention.LayerNorm intermediate.LayerNorm"), **both("final_norm", "LayerNorm")},
    config=ROBERTA_CONFIG.but(norm_placement="pre", final_norm=True),
    prefixes=("roberta_prelayernorm.", ""),
)
#: Goyal et al. 2021: RoBERTa with the norms before the sublayers, and none after the embeddings.
XLM_ROBERTA_XL = ROBERTA.but(
    {**layer(LAYER, norms="attention.self_attn_layer_norm LayerNorm"), **both("final_norm", "encoder.LayerNorm")},
    config=ROBERTA_CONFIG.but(norm_placement="pre", final_norm=True, embedding_norm=False).taking(
        type_vocab_size=1, layer_norm_eps=1e-5
    ),
)


def adapter_fields(fields: Fields) -> dict[str, Any]:
    """X-MOD (Pfeiffer et al. 2022): adapters with norms where its two published kinds have them."""
    pre, width = fields.flag("pre_norm", False), fields.integer("hidden_size")
    factor = fields.integer("adapter_reduction_factor", 2, 1, width)
    if not fields.flag("adapter_layer_norm", False):
        fields.only("adapter_reuse_layer_norm", True, "its adapters have no norm; choose a model with one")
    fields.only("ln_before_adapter", not pre, "the residual stream of its adapters begins elsewhere; choose another")
    return {"adapter": width // factor} | ({"norm_placement": "pre", "final_norm": True} if pre else {})


def in_one_language(fields: Fields) -> Family:
    """X-MOD with the adapters of config.json's default_language, or of its first language."""
    languages = fields.get("languages", ["en_XX"])
    if not isinstance(languages, list) or not languages or not all(isinstance(one, str) for one in languages):
        raise unsupported("languages", languages, "specify a list of their codes")
    chosen = fields.get("default_language") or languages[0]
    if chosen not in languages:
        raise unsupported("default_language", chosen, f"choose one of {quoted(', '.join(languages))}")
    own = "adapter_layer_norm" if fields.flag("adapter_layer_norm", False) else "LayerNorm"
    # The adapter's own norm is before it: at the end of the FFN in post-norm.
    norms = ("LayerNorm", own) if fields.flag("pre_norm", False) else (own, "LayerNorm")
    modules = [f"adapter_modules.{chosen}.dense{number}" for number in (1, 2)]
    names = both("final_norm", "encoder.LayerNorm")
    for ours, theirs in zip(
        ("ffn_norm", "adapter_norm", "adapter.w_in", "adapter.w_out"), (*norms, *modules), strict=True
    ):
        names |= both(f"layers.{{l}}.{ours}", f"{LAYER}.output.{theirs}")
    others = r"encoder\.layer\.\d+\.output\.adapter_modules\..+\.dense[12]\.(weight|bias)"
    return XMOD.but(
        names,
        dropped=HEADS_DROPPED | {others: f"the adapters of other languages than {chosen}"},
        saved={"languages": [chosen], "default_language": chosen},
    )


XMOD = ROBERTA.but(config=ROBERTA_CONFIG.but(adapter_fields), of=in_one_language)


def longformer_windows(fields: Fields) -> dict[str, Any]:
    """Longformer (Beltagy et al. 2020): attention_window counts both sides. No token is global here."""
    sizes = fields.get("attention_window", 512)
    sizes = [sizes] * fields.layers() if isinstance(sizes, int) else sizes
    if not isinstance(sizes, list) or any(type(size) is not int or size < 2 or size % 2 for size in sizes):
        raise unsupported("attention_window", sizes, "specify an even number of 2 or more for each layer")
    return {"attention_window": tuple(size // 2 for size in sizes)}


LONGFORMER = ROBERTA.but(
    config=ROBERTA_CONFIG.but(longformer_windows),
    prefixes=("longformer.", ""),
    dropped=HEADS_DROPPED
    | {r"encoder\.layer\.\d+\.attention\.self\.(query|key|value)_global\.(weight|bias)": "the maps of global tokens"},
)

#: Clark et al. 2020: tables of another width, with a projection. The reference's classifier has GELU, whatever
#: config.json says.
ELECTRA = BERT.but(
    both("embedding.projection", "embeddings_project"),
    config=BERT_CONFIG.but(embedding_width=Key("embedding_size", 128)),
    prefixes=("electra.", ""),
    head=HeadNames(
        config=masked_words("gelu"),
        dense="generator_predictions.dense",
        norm="generator_predictions.LayerNorm",
        bias=("generator_lm_head.bias",),
        table="generator_lm_head.weight",
    ),
    classifiers={
        "sequence": dataclasses.replace(DENSE_CLASSIFIER, options=lambda fields: {"activation": "gelu"}),
        "token": TAGGER,
    },
    dropped=HEADS_DROPPED
    | {
        r"discriminator_predictions\.(dense|dense_prediction)\.(weight|bias)": "a head that finds replaced words",
        r"sequence_summary\.summary\.(weight|bias)": "a multiple-choice head",
    },
)


def narrow_tables(fields: Fields) -> dict[str, Any]:
    """ALBERT's tables, which must be narrower than the model."""
    width = fields.integer("embedding_size", 128)
    if width == fields.integer("hidden_size"):
        raise unsupported("embedding_size", width, "choose a width that differs from hidden_size")
    return {"embedding_width": width}


ALBERT_LAYER = "encoder.albert_layer_groups.{l}.albert_layers.0"
#: Lan et al. 2020: layers that share their weights, and token tables narrower than the model.
ALBERT = BERT.but(
    {
        **both("embedding.projection", "encoder.embedding_hidden_mapping_in"),
        **layer(
            ALBERT_LAYER, "attention.query attention.key attention.value attention.dense", "ffn ffn_output",
            "attention.LayerNorm full_layer_layer_norm",
        ),
        **both("pooler", "pooler"),
    },
    config=BERT_CONFIG.but(
        narrow_tables, activation=Key("hidden_act", "gelu_new"), dropout=Key("hidden_dropout_prob", 0.0),
        attention_dropout=Key("attention_probs_dropout_prob", 0.0), layer_groups=Key("num_hidden_groups", 1),
    ).refusing(inner_group_num=(1, "choose a model whose groups repeat a single layer")),
    prefixes=("albert.", ""),
    head=head_at("predictions", masked_words(default="gelu_new"), "dense", "LayerNorm"),
    classifiers={"sequence": dataclasses.replace(POOLED_CLASSIFIER, dense="{encoder}pooler"), "token": TAGGER},
    dropped=HEADS_DROPPED | {r"sop_classifier\.classifier\.(weight|bias)": "a head for the order of sentences"},
)  # fmt: skip

#: Song et al. 2020: RoBERTa's positions, no segments, and a bias by distance on the scores. The reference ignores
#: config.json in some fields.
MPNET = ROBERTA.but(
    {
        "relative_bias.weight": "encoder.relative_attention_bias.weight",
        **layer(
            LAYER,
            "attention.attn.q attention.attn.k attention.attn.v attention.attn.o",
            norms="attention.LayerNorm output.LayerNorm",
        ),
    },
    config=STANDARD.but(
        n_segments=0,
        pad_id=1,
        position_offset=2,
        pad_position=1,
        relative_max_distance=128,
        relative_buckets=Key("relative_attention_num_buckets", 32),
    ).refusing(relative_attention_num_buckets=(32, "choose 32, as in the reference")),
    prefixes=("mpnet.", ""),
)

#: Sanh et al. 2019: BERT without segments and pooler. Sinusoidal positions, where it has them, are in the table.
DISTILBERT = BERT.but(
    layer(
        "transformer.layer.{l}",
        "attention.q_lin attention.k_lin attention.v_lin attention.out_lin",
        "ffn.lin1 ffn.lin2",
        "sa_layer_norm output_layer_norm",
    ),
    config=STANDARD.but(
        d_model=Key("dim"),
        n_layers=Key("n_layers"),
        n_heads=Key("n_heads"),
        d_ffn=Key("hidden_dim"),
        norm_eps=1e-12,
        activation=Key("activation", "gelu"),
        dropout=Key("dropout", 0.1),
        attention_dropout=Key("attention_dropout", 0.1),
    ),
    prefixes=("distilbert.", ""),
    head=HeadNames(
        config=lambda fields: MLMHeadConfig(fields.activation("activation"), tied=fields.tied),
        dense="vocab_transform",
        norm="vocab_layer_norm",
        bias=("vocab_projector.bias",),
        table="vocab_projector.weight",
    ),
    classifiers={
        "sequence": ClassifierNames(dense="pre_classifier", options=lambda fields: {"activation": "relu"}),
        "token": TAGGER,
    },
    dropped=HEADS_DROPPED,
)

#: Karpukhin et al. 2020: an encoder of questions or one of passages.
DPR = BERT.but(
    config=BERT_CONFIG.refusing(projection_dim=(0, "choose a model without a projection")),
    prefixes=("question_encoder.bert_model.", "ctx_encoder.bert_model."),
)
SPLINTER = BERT.but(
    prefixes=("splinter.", ""), dropped=HEADS_DROPPED | {r"(splinter_)?qass\..*": "a question-answering head"}
)  # Ram et al. 2021

SEGMENTS = "embeddings.token_type_embeddings.weight"
#: Sun et al. 2020. With tasks, the vector of task 0 is part of the segments' vectors here: every text has it.
ERNIE_TASKS = BERT.but(
    {"embedding.segments.weight": Part(SEGMENTS, plus=("embeddings.task_type_embeddings.weight",))},
    prefixes=("ernie.", ""),
)
ERNIE_PLAIN = BERT.but(prefixes=("ernie.", ""))
ERNIE = ERNIE_PLAIN.but(of=lambda fields: ERNIE_TASKS if fields.flag("use_task_id", False) else ERNIE_PLAIN)
BOXES: dict[str, str | Part] = {
    f"embedding.places.{ours}.weight": f"embeddings.{ours[0]}_position_embeddings.weight"
    for ours in ("x", "y", "height", "width")
}


def added_boxes(fields: Fields) -> dict[str, Any]:
    """LayoutLM's vectors of boxes. [SEP] has the lower right corner of the page, as in its authors' code."""
    rows = fields.integer("max_2d_position_embeddings", 1024, 1, MOST)
    return {"places": Boxes(rows, end=Boxes(rows).largest)}


#: Xu et al. 2020.
LAYOUTLM = BERT.but(BOXES, config=BERT_CONFIG.but(added_boxes), prefixes=("layoutlm.", ""))


def joined_boxes(fields: Fields) -> dict[str, Any]:
    """LayoutLMv3's vectors of boxes, and its biases by the distance of two tokens in the text and on the page.

    transformers uses that on the page only together with the other.
    """
    place, size = fields.integer("coordinate_size", 128), fields.integer("shape_size", 128)
    if place < 1 or 4 * place + 2 * size != (width := fields.integer("hidden_size", 768)):
        raise unsupported("coordinate_size", place, f"four of it and two of shape_size add up to hidden_size={width}")
    boxes = Boxes(fields.integer("max_2d_position_embeddings", 1024, 1, MOST), place)
    page = page_image(fields) if fields.flag("visual_embed", True) else None
    if not fields.flag("has_relative_attention_bias", True):
        return {"places": boxes, "page": page}
    if fields.flag("has_spatial_attention_bias", True):
        buckets, farthest = fields.integer("rel_2d_pos_bins", 64), fields.integer("max_rel_2d_pos", 256)
        boxes = dataclasses.replace(boxes, buckets=buckets, max_distance=farthest)
    return {
        "places": boxes,
        "page": page,
        "relative_buckets": fields.integer("rel_pos_bins", 32),
        "relative_max_distance": fields.integer("max_rel_pos", 128),
    }


def page_image(fields: Fields) -> Patches:
    """The image of LayoutLMv3's page."""
    side, patch = fields.integer("input_size", 224, 1, MOST), fields.integer("patch_size", 16, 1, MOST)
    if patch > side:
        raise unsupported("patch_size", patch, f"a page has {side} pixels along a side: choose fewer")
    return Patches(side, patch, fields.integer("num_channels", 3, 1, MOST))


#: Of the image of a page.
PAGE: dict[str, str | Part] = {
    **both("embedding.page.projection", "patch_embed.proj"),
    **both("embedding.page.norm", "norm"),
    **both("embedding.page.last", "LayerNorm"),
    "embedding.page.cls": "cls_token",
    "embedding.page.positions": "pos_embed",
}


def layoutlmv3_of(fields: Fields) -> Family:
    """LayoutLMv3 with its biases, which are divided as the scores are."""
    heads = max(1, fields.integer("num_attention_heads", 12))
    width = max(1, fields.integer("hidden_size", 768) // heads)
    theirs = {"relative_bias": "rel_pos_bias", "box_bias_x": "rel_pos_x_bias", "box_bias_y": "rel_pos_y_bias"}
    biases = {
        f"{ours}.weight": Part(f"encoder.{name}.weight", transpose=True, factor=width**-0.5)
        for ours, name in theirs.items()
    }
    named = fields.get("id2label")
    n_labels = len(named) if isinstance(named, dict) else fields.integer("num_labels", 2)
    tagger = TAGGER if n_labels < LAYOUTLMV3_PLAIN else DENSE_CLASSIFIER
    return LAYOUTLMV3.but(biases, classifiers={"sequence": DENSE_CLASSIFIER, "token": tagger})


#: LayoutLMv3 tags tokens with one linear map where there are fewer labels.
LAYOUTLMV3_PLAIN = 10


#: Huang et al. 2022: RoBERTa with boxes, biases by distance, and the patches of the page's image after the words.
LAYOUTLMV3 = ROBERTA.but(
    BOXES | PAGE,
    config=ROBERTA_CONFIG.but(joined_boxes)
    .refusing(text_embed=(True, "choose a model of texts"))
    .taking(layer_norm_eps=1e-5),
    prefixes=("layoutlmv3.", ""),
    head=None,
    dropped=HEADS_DROPPED
    | {
        r"encoder\.rel_pos_[xy]_bias\.weight": "biases by distance on the page, which need those by order",
        r"visual_bbox": "",
    },
    of=layoutlmv3_of,
)


def boxes_beside(fields: Fields) -> dict[str, Any]:
    """LiLT's stream of boxes, by so many times narrower than that of the text."""
    width, heads = max(1, fields.integer("hidden_size", 768)), max(1, fields.integer("num_attention_heads", 12))
    neurons, shrink = fields.integer("intermediate_size", 3072), fields.integer("channel_shrink_ratio", 4)
    if shrink < 1 or width % shrink or width // heads % shrink or neurons % shrink:
        raise unsupported("channel_shrink_ratio", shrink, "it divides hidden_size, each head and intermediate_size")
    if width % 6:
        raise unsupported("hidden_size", width, "six vectors of equal width are joined: choose a multiple of 6")
    rows, pad = fields.integer("max_2d_position_embeddings", 1024, 1, MOST), fields.pad_id()
    return {
        "places": Boxes(rows, joined=width // 6, shrink=shrink),
        "pad_id": pad,
        "position_offset": pad + 1,
        "pad_position": pad,
    }


def beside(names: dict[str, str | Part]) -> dict[str, str | Part]:
    """Names of a layer as those of the same layer of a stream of boxes."""
    return {ours.replace("layers.{l}", "layers.{l}.beside.block"): theirs for ours, theirs in names.items()}


#: Wang et al. 2022: RoBERTa, and next to it a narrower stream of boxes.
LILT = ROBERTA.but(
    {
        **{
            f"embedding.beside.boxes.{ours}.weight": f"layout_embeddings.{ours[0]}_position_embeddings.weight"
            for ours in ("x", "y", "height", "width")
        },
        "embedding.beside.positions.table.weight": "layout_embeddings.box_position_embeddings.weight",
        **both("embedding.beside.projection", "layout_embeddings.box_linear_embeddings"),
        **both("embedding.beside.norm", "layout_embeddings.LayerNorm"),
        **beside(
            layer(
                LAYER,
                "attention.self.layout_query attention.self.layout_key attention.self.layout_value "
                "attention.layout_output.dense",
                "layout_intermediate.dense layout_output.dense",
                "attention.layout_output.LayerNorm layout_output.LayerNorm",
            )
        ),
    },
    config=BERT_CONFIG.but(boxes_beside),
    prefixes=("lilt.", ""),
    head=None,
)


def paths_of(fields: Fields) -> dict[str, Any]:
    """MarkupLM's vectors of paths: as many tables of tags and of numbers as a path has steps."""
    tags = fields.integer("max_xpath_tag_unit_embeddings", 256, 1, MOST)
    numbers = fields.integer("max_xpath_subs_unit_embeddings", 1024, 1, MOST)
    shape = Paths(
        steps=fields.integer("max_depth", 50, 1, MOST_STEPS),
        tags=tags,
        numbers=numbers,
        step_width=fields.integer("xpath_unit_hidden_size", 32, 1, MOST),
        hidden=4 * fields.integer("hidden_size", 768),
        no_tag=fields.integer("tag_pad_id", 216, 0, tags - 1),
        no_number=fields.integer("subs_pad_id", 1001, 0, numbers - 1),
    )
    return after_padding(fields, usual=0) | {"places": shape}


def markuplm_of(fields: Fields) -> Family:
    """MarkupLM with the tables of each step of a path."""
    at = "embeddings.xpath_embeddings"
    tables = {
        f"embedding.places.{ours}.{step}.weight": f"{at}.xpath_{theirs}_sub_embeddings.{step}.weight"
        for step in range(fields.integer("max_depth", 50, 1, MOST_STEPS))
        for ours, theirs in (("tags", "tag"), ("numbers", "subs"))
    }
    return MARKUPLM.but(tables)


#: Li et al. 2022: BERT with RoBERTa's positions, and paths in a tree of HTML.
MARKUPLM = BERT.but(
    {
        **both("embedding.places.w_in", "embeddings.xpath_embeddings.xpath_unitseq2_inner"),
        **both("embedding.places.w_out", "embeddings.xpath_embeddings.inner2emb"),
    },
    config=BERT_CONFIG.but(paths_of),
    prefixes=("markuplm.", ""),
    of=markuplm_of,
    dropped={
        **BERT.dropped,
        # The forward pass has no use for it.
        r"embeddings\.xpath_embeddings\.xpath_unitseq2_embeddings\.(weight|bias)": "",
        r"ptr_layer\..*|nrp_cls\..*": "a head of pretraining",
    },
)
#: Hong et al. 2022. With all boxes 0, each query's scores change by one number, which the softmax ignores.
BROS = BERT.but(
    prefixes=("bros.", ""),
    dropped=HEADS_DROPPED | {r"bbox_embeddings\..*": "the places of words on a page", r".*\.inv_freq": ""},
)
#: Shoeybi et al. 2019.
MEGATRON = BERT.but(
    {**layer(LAYER, norms="attention.ln ln"), **both("final_norm", "encoder.ln")},
    config=BERT_CONFIG.but(norm_placement="pre", final_norm=True, embedding_norm=False),
)
#: Chung et al. 2021: tables of another width, with a projection.
REMBERT = BERT.but(
    both("embedding.projection", "encoder.embedding_hidden_mapping_in"),
    config=BERT_CONFIG.but(embedding_width=Key("input_embedding_size", 256)),
    prefixes=("rembert.", ""),
    head=None,
    dropped=HEADS_DROPPED | {r"cls\.predictions\..*": "a masked-word head with tables of its own width"},
)


def full_attention(fields: Fields) -> dict[str, Any]:
    """BigBird (Zaheer et al. 2020): up to 5 + 2 x random blocks, its attention is full; longer texts are refused."""
    kind = fields.get("attention_type", "block_sparse")
    if kind not in ("block_sparse", "original_full"):
        raise unsupported("attention_type", kind, "choose block_sparse or original_full")
    block, random = fields.integer("block_size", 64), fields.integer("num_random_blocks", 3)
    rows = fields.integer("max_position_embeddings")
    longest = min(rows, max(1, (5 + 2 * random) * block)) if kind == "block_sparse" else rows
    scale = fields.integer("hidden_size") ** 0.5 if fields.flag("rescale_embeddings", False) else 1.0
    return {"embedding_scale": scale, "longest": longest}


BIG_BIRD = BERT.but(
    both("pooler", "pooler"),
    config=BERT_CONFIG.but(full_attention, activation=Key("hidden_act", "gelu_new"), qkv_bias=Key("use_bias", True)),
    dropped={**BERT.dropped, r"(qa_classifier|sequence_summary)\..*": "a head"},
    classifiers={"sequence": DENSE_CLASSIFIER, "token": TAGGER},
)
#: Su et al. 2021: neighbouring components rotate together.
ROFORMER = BERT.but(
    {**both("embedding.projection", "embeddings_project"), "rotary_table.weight": "encoder.embed_positions.weight"},
    config=BERT_CONFIG.but(
        position="rotary",
        rotary_interleaved=True,
        embedding_width=lambda fields: fields.integer("embedding_size", fields.integer("hidden_size")),
    ).refusing(rotary_value=(False, "choose a model that rotates queries and keys only")),
    prefixes=("roformer.", ""),
    classifiers={"token": TAGGER},
    dropped=HEADS_DROPPED | {r"encoder\.embed_positions\.weight": "", r"sequence_summary\..*": "a head"},
)


def esm_fields(fields: Fields) -> dict[str, Any]:
    """ESM-1b and ESM-2 (Rives et al. 2021, Lin et al. 2023): proteins, one token for each amino acid."""
    kind = fields.get("position_embedding_type", "absolute")
    if kind not in ("absolute", "rotary"):
        raise unsupported("position_embedding_type", kind, "choose absolute or rotary")
    found = after_padding(fields)
    if kind == "rotary":
        found = {"pad_id": found["pad_id"], **rotary_fields(fields)}
    hides = fields.flag("token_dropout", False)
    return found | {
        "embedding_norm": bool(fields.get("emb_layer_norm_before")),
        "mask_id": fields.integer("mask_token_id") if hides else None,
    }


ESM = ROBERTA.but(
    {
        **both("embedding.norm", "embeddings.layer_norm"),
        **layer(LAYER, norms="attention.LayerNorm LayerNorm"),
        **both("final_norm", "encoder.emb_layer_norm_after"),
    },
    config=STANDARD.but(esm_fields, n_segments=0, activation="gelu", norm_placement="pre", final_norm=True).refusing(
        is_folding_model=(False, "choose the encoder only")
    ),
    prefixes=("esm.", ""),
    dropped=HEADS_DROPPED
    | {
        r"(esm\.)?contact_head\..*": "a head that predicts contacts of amino acids",
        r"(encoder\.layer\.[\d*]+\.attention\.self\.)?rotary_embeddings\.inv_freq": "",
        r"embeddings\.position_embeddings\.weight": "",  # of models with rotary positions, unused
    },
)

#: Conneau and Lample 2019, and FlauBERT (Le et al. 2020): BERT's encoder, with vectors of languages left out. Pre-norm
#: fails in transformers 5.23 too.
XLM = Family(
    config=STANDARD.but(
        vocab_size=Key("vocab_size"), d_model=Key("emb_dim"), n_layers=Key("n_layers"), n_heads=Key("n_heads"),
        d_ffn=lambda fields: 4 * fields.integer("emb_dim"), max_positions=Key("max_position_embeddings", 512),
        activation=lambda fields: "gelu" if fields.flag("gelu_activation", True) else "relu",
        dropout=Key("dropout", 0.1), attention_dropout=Key("attention_dropout", 0.1), pad_id=Key("pad_token_id", 2),
    ).refusing(
        is_encoder=(True, "choose an encoder"),
        causal=(False, "choose a model in which every token attends to every token"),
        pre_norm=(False, "choose a model whose norms follow the sublayers"),
    ).renaming(n_words="vocab_size"),
    names={
        "embedding.tokens.weight": "embeddings.weight",
        "embedding.positions.table.weight": "position_embeddings.weight",
        **both("embedding.norm", "layer_norm_emb"),
        **layer("attentions.{l}", "q_lin k_lin v_lin out_lin"),
        **layer("ffns.{l}", ffn="lin1 lin2"),
        **both("layers.{l}.attention_norm", "layer_norm1.{l}"),
        **both("layers.{l}.ffn_norm", "layer_norm2.{l}"),
    },
    prefixes=("transformer.", ""),
    dropped={
        r"lang_embeddings\.weight": "the vectors of languages, which are added only where a text's language is given",
        r"pred_layer\..*": "a masked-word head of one linear map",
        r"(sequence_summary|qa_outputs|classifier)\..*": "a head",
        r"position_ids": "",
    },
)  # fmt: skip

#: SqueezeBERT's convolutions -> the fields of their numbers of groups.
GROUPED = {
    "attention.w_q": ("attention.query", "q_groups", 4),
    "attention.w_k": ("attention.key", "k_groups", 4),
    "attention.w_v": ("attention.value", "v_groups", 4),
    "attention.w_o": ("post_attention.conv1d", "post_attention_groups", 1),
    "ffn.w_in": ("intermediate.conv1d", "intermediate_groups", 4),
    "ffn.w_out": ("output.conv1d", "output_groups", 4),
}


def in_groups(fields: Fields) -> Family:
    """SqueezeBERT with its numbers of groups, which divide the widths of each map."""
    names: dict[str, str | Part] = {}
    widths = fields.integer("hidden_size"), fields.integer("intermediate_size", 3072)
    for ours, (theirs, key, usual) in GROUPED.items():
        count = fields.integer(key, usual, 1, min(widths))
        if any(width % count for width in (widths if ours.startswith("ffn") else widths[:1])):
            raise unsupported(key, count, "choose a divisor of the widths")
        on_disk = f"encoder.layers.{{l}}.{theirs}"
        names[f"layers.{{l}}.{ours}.weight"] = Part(f"{on_disk}.weight", groups=count)
        names[f"layers.{{l}}.{ours}.bias"] = f"{on_disk}.bias"
    return SQUEEZEBERT.but(names)


#: Iandola et al. 2020: BERT whose linear maps are convolutions over one token, in groups of channels. Here they are
#: linear maps with zeros between the groups. The eps of the norms of layers has no field.
SQUEEZEBERT = BERT.but(
    layer("encoder.layers.{l}", norms="post_attention.layernorm output.layernorm"),
    config=BERT_CONFIG.refusing(
        layer_norm_eps=(1e-12, "set it to 1e-12, the eps that its layers have"),
        embedding_size=(lambda fields: fields.integer("hidden_size"), "choose a model whose tables are of its width"),
    ),
    prefixes=("transformer.", ""),
    of=in_groups,
)

FAMILIES = {
    "albert": ALBERT,
    "bert": BERT.but(of=by_positions),
    "big_bird": BIG_BIRD,
    "bros": BROS,
    "camembert": ROBERTA,
    # The text tower of CLAP (Wu et al. 2023), saved by itself.
    "clap_text_model": ROBERTA.but(
        config=ROBERTA_CONFIG.taking(type_vocab_size=1),
        prefixes=("text_model.", ""),
        head=None,
        dropped=HEADS_DROPPED | {r"text_projection\..*": "the projection to the vectors of sounds"},
    ),
    "data2vec-text": DATA2VEC_TEXT,
    "distilbert": DISTILBERT,
    "dpr": DPR,
    "electra": ELECTRA,
    "ernie": ERNIE,
    "esm": ESM,
    "flaubert": XLM,
    "layoutlm": LAYOUTLM,
    "layoutlmv3": LAYOUTLMV3,
    "lilt": LILT,
    "longformer": LONGFORMER,
    "markuplm": MARKUPLM,
    "megatron-bert": MEGATRON,
    "mpnet": MPNET,
    "rembert": REMBERT,
    "roberta": ROBERTA,
    "roberta-prelayernorm": ROBERTA_PRELAYERNORM,
    "roformer": ROFORMER,
    "splinter": SPLINTER,
    "squeezebert": SQUEEZEBERT,
    "xlm": XLM,
    "xlm-roberta": ROBERTA,
    "xlm-roberta-xl": XLM_ROBERTA_XL,
    "xmod": XMOD,
}

"""XLM (Conneau and Lample 2019) and FlauBERT (Le et al. 2020): BERT's encoder, with vectors of languages left out."""

from __future__ import annotations

from encoder.load.families.family import Family, Fields, both, unsupported
from encoder.model.config import EncoderConfig


def xlm_config(fields: Fields) -> EncoderConfig:
    """XLM's config.json, and FlauBERT's."""
    fields.check_is_encoder()
    fields.only("is_encoder", True, "choose an encoder")
    fields.only("causal", False, "choose a model in which every token attends to every token")
    fields.only("pre_norm", False, "choose a model whose norms follow the sublayers")  # fails in transformers 5.23 too
    width = fields.integer("emb_dim")
    if width < 1:
        raise unsupported("emb_dim", width, "choose 1 or more")
    return EncoderConfig(
        vocab_size=fields.integer("vocab_size", fields.integer("n_words", 0)),
        d_model=width,
        n_layers=fields.layers("n_layers"),
        n_heads=fields.integer("n_heads"),
        d_ffn=4 * width,
        max_positions=fields.integer("max_position_embeddings", 512),
        norm_eps=fields.number("layer_norm_eps", 1e-12),
        activation="gelu" if fields.flag("gelu_activation", True) else "relu",
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("attention_dropout", 0.1),
        pad_id=fields.pad_id(default=2),
    )


XLM = Family(
    config=xlm_config,
    names={
        "embedding.tokens.weight": "embeddings.weight",
        "embedding.positions.table.weight": "position_embeddings.weight",
        **both("embedding.norm", "layer_norm_emb"),
        **both("layers.{l}.attention.w_q", "attentions.{l}.q_lin"),
        **both("layers.{l}.attention.w_k", "attentions.{l}.k_lin"),
        **both("layers.{l}.attention.w_v", "attentions.{l}.v_lin"),
        **both("layers.{l}.attention.w_o", "attentions.{l}.out_lin"),
        **both("layers.{l}.attention_norm", "layer_norm1.{l}"),
        **both("layers.{l}.ffn.w_in", "ffns.{l}.lin1"),
        **both("layers.{l}.ffn.w_out", "ffns.{l}.lin2"),
        **both("layers.{l}.ffn_norm", "layer_norm2.{l}"),
    },
    prefixes=("transformer.", ""),
    dropped={
        r"lang_embeddings\.weight": "the vectors of languages, which are added only where a text's language is given",
        r"pred_layer\..*": "a masked-word head of one linear map",
        r"(sequence_summary|qa_outputs|classifier)\..*": "a head",
        r"position_ids": "",
    },
)

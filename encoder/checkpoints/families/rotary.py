"""Rotary positions in config.json, as transformers 4 (rope_theta, rope_scaling) and 5 (rope_parameters) write them."""

import math
from collections.abc import Sequence
from typing import Any

from encoder.checkpoints.families.reader import Fields, unsupported
from encoder.model.rotary import RotaryScaling

#: Up to here float32 tells factor x 1 - (factor - 1) from 0: the share by which transformers scales a short input.
MOST_FACTOR = 2**20
FULL, SLIDING = "full_attention", "sliding_attention"


def d_head_of(fields: Fields) -> int:
    """The width of a head."""
    n_heads = max(1, fields.integer("num_attention_heads"))
    return fields.unless_null("head_dim", fields.integer("hidden_size") // n_heads)


def rotary_fields(
    fields: Fields,
    kinds: Sequence[str] = (),
    bases: dict[str, tuple[str, float]] | None = None,
    default: float = 10_000.0,
    scaled: Sequence[str] = (FULL, SLIDING),
) -> dict[str, Any]:
    """The fields of EncoderConfig. kinds: of each layer, where layers differ; bases: kind -> (field of the base in
    older files, its default); default: the base of other models; scaled: the kinds that rope_scaling of older files is
    for. Raises LoadError for an unknown scaling."""
    d_head = d_head_of(fields)
    if not kinds:
        base, scaling, width = _one(fields, d_head, None, ("rope_theta", default))
        return {"position": "rotary", "rotary_base": base, "rotary_scaling": scaling, "rotary_width": width}
    found = {
        kind: _one(fields, d_head, kind, (bases or {}).get(kind, ("rope_theta", default)), kind in scaled)
        for kind in set(kinds)
    }
    widths = {width for _, _, width in found.values()}
    if len(widths) > 1:
        raise unsupported("rope_parameters", fields.get("rope_parameters"), "rotate the same share in each layer")
    scalings = tuple(found[kind][1] for kind in kinds)
    return {
        "position": "rotary",
        "rotary_base": tuple(found[kind][0] for kind in kinds),
        "rotary_scaling": scalings if any(scalings) else None,
        "rotary_width": widths.pop(),
    }


def _one(
    fields: Fields, d_head: int, kind: str | None, older: tuple[str, float], is_scaled: bool = True
) -> tuple[float, RotaryScaling | None, int]:
    """Base, scaling and rotated width of one kind of layers. In transformers, rope_parameters without this kind says
    nothing about it."""
    key = "rope_parameters" if fields.get("rope_parameters") is not None else "rope_scaling"
    rope = fields.get(key)
    if rope is not None and not isinstance(rope, dict):
        raise unsupported(key, rope, "specify an object")
    settings = Fields(rope or {})
    if kind is not None and isinstance(settings.get(kind), dict):
        settings = Fields(settings[kind])
    elif kind is not None and (key == "rope_parameters" or not is_scaled):
        settings = Fields({})
    name, default = older
    base = settings.number("rope_theta", fields.number(name, default) if fields.get(name) is not None else default)
    share = settings.number("partial_rotary_factor", fields.number("partial_rotary_factor", 1.0))
    width = int(d_head * share)
    if not 0 < width <= d_head:
        raise unsupported("partial_rotary_factor", share, "choose a share above 0, and at most 1")
    if base <= 0:
        raise unsupported(name, base, "choose a number above 0")
    return base, _scaling(key, settings, fields, base), width


def _scaling(key: str, settings: Fields, fields: Fields, base: float) -> RotaryScaling | None:
    """How the frequencies are scaled. "dynamic" (NTK) scales only inputs that are longer than the model's limit."""
    kind = settings.get("rope_type", settings.get("type", "default"))
    if kind in ("default", None):
        return None
    if kind not in ("linear", "yarn", "llama3", "dynamic"):
        raise unsupported(key, kind, "choose a model whose rotary positions are scaled by linear, yarn or llama3")
    factor = settings.number("factor", 1.0)
    if kind == "dynamic":
        if abs(factor) > MOST_FACTOR:
            raise unsupported("factor", factor, f"choose at most {MOST_FACTOR:,}")
        return None
    if factor < 1:  # transformers warns; the angles may be too large for float32
        raise unsupported("factor", factor, "choose 1 or more")
    if kind == "linear":
        return RotaryScaling(kind, factor)
    original = settings.integer("original_max_position_embeddings", fields.integer("max_position_embeddings"))
    if kind == "llama3":
        fast, slow = settings.number("high_freq_factor", 4.0), settings.number("low_freq_factor", 1.0)
        return RotaryScaling(kind, factor, original, fast, slow)
    if base == 1.0:
        raise unsupported("rope_theta", base, "choose a base above 1 for yarn")
    return RotaryScaling(
        kind,
        factor,
        original,
        settings.number("beta_fast", 32.0) if settings.get("beta_fast") else 32.0,
        settings.number("beta_slow", 1.0) if settings.get("beta_slow") else 1.0,
        _yarn_length(settings, factor),
        settings.flag("truncate", True),
    )


def _yarn_length(settings: Fields, factor: float) -> float:
    """The factor of cos and sin (Peng et al. 2024, equation 22, and its form with mscale)."""
    if settings.get("attention_factor") is not None:
        return settings.number("attention_factor", 1.0)

    def length(scale: float) -> float:
        return 1.0 if factor <= 1.0 else 0.1 * scale * math.log(factor) + 1.0

    first, second = (settings.number(name, 0.0) if settings.get(name) else 0.0 for name in ("mscale", "mscale_all_dim"))
    return length(first) / length(second) if first and second else length(1.0)


def windows_of(kinds: Sequence[str], reach: int | None) -> dict[str, Any]:
    """The window of each layer: `reach` tokens to each side in local ones."""
    return {"attention_window": tuple(reach if kind == SLIDING else None for kind in kinds)}


def layer_kinds(fields: Fields, default: Sequence[str]) -> list[str]:
    """Global or local, for every layer. Raises LoadError for an unknown kind."""
    kinds: Any = fields.get("layer_types")
    n_layers = fields.layers()
    kinds = list(default) if kinds is None else kinds
    if not isinstance(kinds, list) or len(kinds) != n_layers or any(kind not in (FULL, SLIDING) for kind in kinds):
        raise unsupported("layer_types", kinds, f"specify {FULL} or {SLIDING} for each of {n_layers} layers")
    return kinds

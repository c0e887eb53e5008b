"""An encoder in float64 numpy, written a second time from the papers: what the engine's numbers are held against.

It shares no line with `encoder`, takes the weights by name, and goes token by token where that is plainer.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf

from encoder.model.config import EncoderConfig

MASKED = -1e300
QK = ("q_norm", "k_norm")


def weights_of(encoder) -> dict[str, np.ndarray]:
    """All weights in float64, by name."""
    return {name: value.detach().cpu().double().numpy() for name, value in encoder.state_dict().items()}


def linear(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    out = np.einsum("...d,ed->...e", x, w[f"{name}.weight"])
    return out + w[f"{name}.bias"] if f"{name}.bias" in w else out


def norm(x: np.ndarray, w: dict[str, np.ndarray], name: str, config: EncoderConfig) -> np.ndarray:
    """Token by token: the mean taken off (not in RMSNorm), divided by the root of the mean square plus eps."""
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-1]):
        vector = x[place]
        mean = 0.0 if config.norm_kind == "rms" else sum(vector) / len(vector)
        variance = sum((vector - mean) ** 2) / len(vector)
        gain = w[f"{name}.weight"] if config.norm_gain and (config.qk_norm_gain or name[-6:] not in QK) else 1.0
        out[place] = (vector - mean) / math.sqrt(variance + config.norm_eps) * gain
    return out + w[f"{name}.bias"] if f"{name}.bias" in w else out


def softmax(row: np.ndarray) -> np.ndarray:
    powers = np.exp(row - row.max())
    return powers / powers.sum()


def activation(x: np.ndarray, name: str) -> np.ndarray:
    if name == "relu":
        return np.where(x > 0, x, 0.0)
    if name == "relu2":
        return np.where(x > 0, x * x, 0.0)
    if name == "gelu_rounded":
        return 0.5 * x * (1 + np.tanh(0.79788456 * x * (1 + 0.044715 * x**2)))
    if name == "silu":
        return x / (1 + np.exp(-x))
    if name == "quick_gelu":
        return x / (1 + np.exp(-1.702 * x))
    if name == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def sine_table(n_tokens: int, width: int) -> np.ndarray:
    table = np.zeros((n_tokens, width))
    for position in range(n_tokens):
        for i in range(width // 2):
            angle = position / 10000 ** (2 * i / width)
            table[position, 2 * i], table[position, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def turned(x: np.ndarray, base: float, sign: int) -> np.ndarray:
    """x [T, K]: the pair (c, c + K/2) of token t as a complex number, times e^(sign i t / base^(2c/K))."""
    half = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None] / base ** (2 * np.arange(half) / x.shape[-1])
    pairs = (x[:, :half] + 1j * x[:, half:]) * np.exp(sign * 1j * angle)
    return np.concatenate((pairs.real, pairs.imag), axis=1)


def bucket(distance: int, buckets: int, max_distance: int) -> int:
    """T5's rule for one distance j - i."""
    half = buckets // 2
    start = half if distance > 0 else 0
    distance = abs(distance)
    exact = half // 2
    if distance < exact:
        return start + distance
    share = math.log(distance / exact) / math.log(max_distance / exact)
    return start + min(half - 1, exact + int(share * (half - exact)))


def visible(config: EncoderConfig, layer: int, i: int, j: int, real: np.ndarray) -> bool:
    window = config.attention_window
    if isinstance(window, tuple):
        window = window[layer]
    return bool(real[j]) and not (config.causal and j > i) and not (window is not None and abs(i - j) > window)


def run(encoder, ids: list[int], segments: list[int], real: list[bool]) -> dict[str, np.ndarray]:
    """One sentence -> every value that a trace shows, by the names that it uses, and "layers.l.attention" [H, T, T]."""
    config: EncoderConfig = encoder.config
    w, n, seen = weights_of(encoder), len(ids), {}
    mask = np.array(real)
    x = w["embedding.tokens.weight"][ids]
    if config.n_segments:
        x = x + w["embedding.segments.weight"][segments]
    if config.position == "sinusoidal":
        seen["embedding.position"] = sine_table(n, x.shape[1])
    elif config.position == "learned":
        rows, next_row = [], config.position_offset
        for is_real in real:
            padded = config.pad_position is not None and not is_real
            rows.append(config.pad_position if padded else next_row)
            next_row += 0 if padded else 1
        seen["embedding.position"] = w["embedding.positions.table.weight"][rows]
    x = x + seen.get("embedding.position", 0.0)
    if config.embedding_norm:
        x = norm(x, w, "embedding.norm", config)
    if config.embedding_width != config.d_model:
        x = linear(x, w, "embedding.projection")
    seen["embedding"] = x
    for layer in range(config.n_layers):
        x = run_layer(config, w, layer, x, mask, seen)
    seen["output"] = norm(x, w, "final_norm", config) if config.final_norm else x
    return seen


def run_layer(config: EncoderConfig, w: dict, layer: int, x: np.ndarray, mask: np.ndarray, seen: dict) -> np.ndarray:
    ours, name = f"layers.{layer}", f"layers.{config.weights_of_layer(layer)}"
    pre = config.norm_placement == "pre"
    has_norm = f"{name}.attention_norm.weight" in w

    def normed(value: np.ndarray, owner: str) -> np.ndarray:
        seen[f"{ours}.{owner}.input"] = value
        return norm(value, w, f"{name}.{owner}", config)

    if config.conformer:
        read = normed(x, "first_ffn_norm") if pre else x
        seen[f"{ours}.first_ffn.hidden"] = activation(linear(read, w, f"{name}.first_ffn.w_in"), config.activation)
        seen[f"{ours}.first_ffn_out"] = linear(seen[f"{ours}.first_ffn.hidden"], w, f"{name}.first_ffn.w_out")
        x = x + seen[f"{ours}.first_ffn_out"]
        seen[f"{ours}.after_first_ffn"] = x = x if pre else normed(x, "first_ffn_norm")
    read = normed(x, "attention_norm") if pre and has_norm else x
    seen[f"{ours}.attention_out"] = attention(config, w, layer, name, read, mask, seen)
    x = x + seen[f"{ours}.attention_out"]
    if not pre and has_norm:
        x = normed(x, "attention_norm")
    seen[f"{ours}.after_attention"] = x
    if config.conformer:
        read = normed(x, "convolution_norm") if pre else x
        seen[f"{ours}.convolution.hidden"] = convolution(config, w, f"{name}.convolution", read, mask)
        seen[f"{ours}.convolution_out"] = linear(seen[f"{ours}.convolution.hidden"], w, f"{name}.convolution.w_out")
        x = x + seen[f"{ours}.convolution_out"]
        seen[f"{ours}.after_convolution"] = x = x if pre else normed(x, "convolution_norm")
    read = normed(x, "ffn_norm") if pre else x
    hidden = activation(linear(read, w, f"{name}.ffn.w_in"), config.activation)
    if config.gated:
        hidden = hidden * linear(read, w, f"{name}.ffn.w_gate")
    seen[f"{ours}.ffn.hidden"] = hidden
    seen[f"{ours}.ffn_out"] = linear(hidden, w, f"{name}.ffn.w_out")
    x = x + seen[f"{ours}.ffn_out"]
    if not pre:
        x = normed(x, "ffn_norm")
    if config.conformer:
        x = normed(x, "end_norm")
    seen[f"{ours}.after_ffn"] = x
    if not config.adapter:
        return x
    read = normed(x, "adapter_norm") if pre else x
    seen[f"{ours}.adapter.hidden"] = activation(linear(read, w, f"{name}.adapter.w_in"), config.activation)
    seen[f"{ours}.adapter_out"] = linear(seen[f"{ours}.adapter.hidden"], w, f"{name}.adapter.w_out")
    x = x + seen[f"{ours}.adapter_out"]
    seen[f"{ours}.after_adapter"] = x = x if pre else normed(x, "adapter_norm")
    return x


def convolution(config: EncoderConfig, w: dict, name: str, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Token by token and channel by channel."""
    shape, both = config.conformer, linear(x, w, f"{name}.w_in")
    width = both.shape[1] // 2
    gated = both[:, :width] / (1 + np.exp(-both[:, width:])) * mask[:, None]
    kernel, first = w[f"{name}.convolution.weight"], shape.kernel - 1 if shape.causal else shape.kernel // 2
    out = np.zeros_like(gated)
    for token in range(len(x)):
        for step in range(shape.kernel):
            at = token - first + step
            if 0 <= at < len(x):
                out[token] += kernel[:, 0, step] * gated[at]
    out = out + w.get(f"{name}.convolution.bias", 0.0)
    if shape.norm == "layer":
        out = norm(out, w, f"{name}.norm", config)
    else:
        out = (out - w[f"{name}.norm.mean"]) / np.sqrt(w[f"{name}.norm.variance"] + 1e-5)
        out = out * w[f"{name}.norm.weight"] + w[f"{name}.norm.bias"]
    return activation(out, config.activation)


def of_distance(config: EncoderConfig, w: dict, name: str, q: np.ndarray, k: np.ndarray, i: int, j: int) -> np.ndarray:
    """[H]: what the distance adds to the product of query i and key j."""
    shape = config.distance_keys
    if shape.rows:
        row = min(max(j - i, -shape.earlier), shape.later) + shape.earlier
        return q[:, i] @ w[f"{name}.distance_keys.weight"][row]
    sines = sine_table(abs(i - j) + 1, config.d_model)[-1]
    sines[::2] *= 1 if i >= j else -1
    key = (w[f"{name}.w_pos_k.weight"] @ sines).reshape(config.n_heads, -1)
    of_position = ((q[:, i] + w[f"{name}.position_bias"]) * key).sum(-1)
    return of_position + (k[:, j] * w[f"{name}.content_bias"]).sum(-1)


def heads_of(config: EncoderConfig, w: dict, name: str, part: str, x: np.ndarray) -> np.ndarray:
    normed = config.qk_norm if part != "v" else "none"
    x = norm(x, w, f"{name}.{part}_norm", config) if normed == "full" else x
    heads = x.reshape(len(x), config.n_heads, config.d_head).transpose(1, 0, 2)
    return norm(heads, w, f"{name}.{part}_norm", config) if normed == "head" else heads


def attention(
    config: EncoderConfig, w: dict, layer: int, name: str, x: np.ndarray, mask: np.ndarray, seen: dict
) -> np.ndarray:
    n, h, width = len(x), config.n_heads, config.d_head
    q, k, v = (
        heads_of(config, w, f"{name}.attention", part, linear(x, w, f"{name}.attention.w_{part}"))  # [H, T, K]
        for part in "qkv"
    )
    if config.position == "rotary":
        base, sign = config.rotary_base_of_layer(layer), -1 if config.rotary_reversed else 1
        q, k = np.stack([turned(one, base, sign) for one in q]), np.stack([turned(one, base, sign) for one in k])
    scores = np.einsum("hik,hjk->hij", q, k) * config.attention_scale
    for i in range(n):
        for j in range(n):
            if config.relative_buckets:
                row = bucket(j - i, config.relative_buckets, config.relative_max_distance)
                scores[:, i, j] += w["relative_bias.weight"][row]
            if config.distance_keys:
                scores[:, i, j] += of_distance(config, w, f"{name}.attention", q, k, i, j) * config.attention_scale
            if not visible(config, layer, i, j, mask):
                scores[:, i, j] = MASKED
    pattern = np.stack([[softmax(row) for row in head] for head in scores])  # [H, T, T]
    if config.attention_sinks:
        sinks = w[f"{name}.attention.sinks"]
        pattern = np.stack(
            [[softmax(np.append(row, sink))[:-1] for row in head] for head, sink in zip(scores, sinks, strict=True)]
        )
    z = np.einsum("hij,hjk->hik", pattern, v)
    if config.output_gate:
        z = z / (1.0 + np.exp(-(x @ w[f"{name}.attention.w_gate.weight"].T))).T[..., None]
    ours = f"layers.{layer}"
    seen |= {f"{ours}.q": q, f"{ours}.k": k, f"{ours}.v": v, f"{ours}.scores": scores}
    seen |= {f"{ours}.attention": pattern, f"{ours}.z": z}
    return linear(z.transpose(1, 0, 2).reshape(n, h * width), w, f"{name}.attention.w_o")

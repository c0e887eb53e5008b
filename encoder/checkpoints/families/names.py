"""Our parameter names -> the names on disk; "{l}" is the layer.

Both directions are strict. A weight of ours that is not on disk is an error. So is a weight on disk that is in no table
and matches no pattern of `Family.dropped`.
"""

from typing import Any

from encoder.checkpoints.families.parts import Part


def both(ours: str, theirs: str) -> dict[str, str | Part]:
    """Weight and bias of a linear map or a norm."""
    return {f"{ours}.weight": f"{theirs}.weight", f"{ours}.bias": f"{theirs}.bias"}


def layer(at: str, attention: str = "", ffn: str = "", norms: str = "") -> dict[str, str | Part]:
    """The parts of a layer on disk, separated by blanks. at: what comes before each, with "{l}" for the layer.

    attention: the maps to q, k and v, and the output's; ffn: the map with the activation, the gate where there is one,
    and the output's; norms: of attention and of the FFN.
    """
    maps = ffn.split()
    ours = (
        ("attention.w_q", "attention.w_k", "attention.w_v", "attention.w_o"),
        ("ffn.w_in", "ffn.w_gate", "ffn.w_out") if len(maps) == 3 else ("ffn.w_in", "ffn.w_out"),
        ("attention_norm", "ffn_norm"),
    )
    found: dict[str, str | Part] = {}
    for names, theirs in zip(ours, (attention.split(), maps, norms.split()), strict=True):
        for name, other in zip(names, theirs, strict=False):
            found |= both(f"layers.{{l}}.{name}", f"{at}.{other}")
    return found


def cross(names: dict[str, str | Part]) -> dict[str, str | Part]:
    """Names of attention and its norm as those of cross-attention."""
    return {ours.replace("attention", "cross"): theirs for ours, theirs in names.items()}


#: The feed-forward layer in layers that have experts, where others have none.
EXPERTS = "layers.{l}.experts"
#: q, k and v of a layer; the map with the activation and the gate of its FFN.
QKV = tuple(f"layers.{{l}}.attention.w_{one}" for one in "qkv")
IN_GATE = ("layers.{l}.ffn.w_in", "layers.{l}.ffn.w_gate")


def blocks(ours: tuple[str, ...], theirs: str, **part: Any) -> dict[str, str | Part]:
    """Weight and bias of several linear maps that are stacked as one on disk. part: fields of Part."""
    return {
        f"{name}.{kind}": Part(f"{theirs}.{kind}", index, len(ours), **part)
        for index, name in enumerate(ours)
        for kind in ("weight", "bias")
    }


def scaled(ours: str, theirs: str, scale: str) -> dict[str, str | Part]:
    """Weight and bias of a linear map whose output a vector on disk multiplies (layer scale)."""
    return {f"{ours}.{kind}": Part(f"{theirs}.{kind}", scale=scale) for kind in ("weight", "bias")}


def times(names: dict[str, str | Part], factor: float) -> dict[str, str | Part]:
    """Linear maps whose outputs the reference multiplies by this factor: their weights and biases take it here."""
    return {ours: Part(str(theirs), factor=factor) for ours, theirs in names.items()}


#: TensorFlow's spellings.
OLD_NORMS = ((r"(.*LayerNorm)\.gamma", r"\1.weight"), (r"(.*LayerNorm)\.beta", r"\1.bias"))

#: Heads of many families.
HEADS_DROPPED = {
    r"(pre_)?classifier\.[\w.]+": "a classification head",
    r"qa_outputs\.(weight|bias)": "a question-answering head",
    r"embeddings\.(position_ids|token_type_ids)": "",
}

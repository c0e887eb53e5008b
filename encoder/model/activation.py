"""Activation functions, by the names of `EncoderConfig.activation` and of heads."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu,
}  # fmt: skip
IN_PLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "tanh": torch.tanh_,
    "sigmoid": torch.sigmoid_,
    "silu": partial(F.silu, inplace=True),
    "gelu": torch.ops.aten.gelu_,
    "gelu_tanh": partial(torch.ops.aten.gelu_, approximate="tanh"),
}


def activate(x: Tensor, name: str) -> Tensor:
    """The activation function `name`, of EncoderConfig or a head. Outside autograd it works in place, and returns x.

    x is the largest tensor of a layer, and nothing else needs it.
    """
    if name == "none":
        return x
    if not torch.is_grad_enabled() and name in IN_PLACE:
        return IN_PLACE[name](x)
    if name in PLAIN:
        return PLAIN[name](x)
    if name == "relu2":  # So et al. 2021
        return F.relu(x).square()
    if name == "gelu_rounded":  # BLOOM's, whose square root of 2 / pi has eight digits
        return 0.5 * x * (1.0 + torch.tanh(0.79788456 * x * (1.0 + 0.044715 * x * x)))
    if name == "quick_gelu":  # Hendrycks & Gimpel 2016, section 2: GELU's approximation by a logistic function
        return x * torch.sigmoid(1.702 * x)
    return F.gelu(x, approximate="tanh" if name == "gelu_tanh" else "none")

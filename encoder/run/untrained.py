"""Untrained: an encoder with random weights, by the settings that the app offers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from encoder.errors import ConfigError
from encoder.model.config import Activation, EncoderConfig, NormKind, NormPlacement
from encoder.train.settings import block

#: The most tokens that it accepts; rows of its token table: those of MiniLM's tokenizer, which it uses.
LONGEST, VOCABULARY = 8_192, 30_522
#: Tokens that a window of its attention reaches to each side.
REACH = 8


@dataclass(frozen=True)
class Untrained:
    """The architecture of an encoder with random weights, and their seed."""

    layers: int = 2
    heads: int = 4
    #: d_model.
    width: int = 64
    #: Width of the feed-forward layer.
    ffn: int = 256
    #: One of `encoder.train.settings.ENCODINGS`.
    positions: str = "sinusoidal"
    norm_kind: NormKind = "layer"
    #: One more norm on what each sublayer adds.
    sandwich: bool = False
    #: Words of `encoder.train.settings.ATTENTION`.
    attention: tuple[str, ...] = ()
    activation: Activation = "gelu"
    gated: bool = False
    seed: int = 0

    def config(self, norm_placement: NormPlacement = "post") -> EncoderConfig:
        """The architecture with the norms in a placement; pre-norm gets a final norm, since post-norm ends in one.

        Raises ConfigError where the numbers do not fit each other.
        """
        check_width(self.width, self.heads, self.positions)
        switches = block(
            self.positions, self.norm_kind, self.attention, n_layers=self.layers, n_heads=self.heads, reach=REACH
        )
        return EncoderConfig(
            vocab_size=VOCABULARY,
            d_model=self.width,
            n_layers=self.layers,
            n_heads=self.heads,
            d_ffn=self.ffn,
            max_positions=LONGEST,
            norm_placement=norm_placement,
            activation=self.activation,
            gated=self.gated,
            output_norms=self.sandwich,
            **switches,
        )


#: Widths on offer.
LEAST_WIDTH, MOST_WIDTH = 4, 768


def check_width(width: int, heads: int, positions: str, bounds: tuple[int, int] = (LEAST_WIDTH, MOST_WIDTH)) -> None:
    """Refuse a width that EncoderConfig would refuse, in the words of the app's controls. bounds: widths on offer.

    Raises ConfigError with the nearest widths that fit.
    """
    steps = {"rotary": 2 * heads, "sinusoidal": math.lcm(2, heads)}
    step = steps.get(positions, heads)
    if width % step == 0:
        return
    if width % heads:
        why = f"Width {width} cannot be split among {heads} heads."
    elif positions == "rotary":
        why = f"Rotary positions rotate pairs of numbers, and the width of each head, {width // heads}, is odd."
    else:
        why = f"Sinusoidal positions are pairs of sine and cosine, and Width {width} is odd."
    multiples = (width // step * step, (width // step + 1) * step)
    fitting = " or ".join(str(one) for one in multiples if bounds[0] <= one <= bounds[1])
    raise ConfigError(f"{why} Choose Width {fitting}, or other Heads or Positions.")

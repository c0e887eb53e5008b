"""The values of the page “Forward pass, step by step” in the address."""

from dataclasses import dataclass

from encoder.explain import STEPS
from pages.state.params import Param, choice, flag, number, whole_number
from pages.state.url_state import state

LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.1, 5.0


@state.register
@dataclass(frozen=True)
class Params:
    """The open step and its options. picture: of the attention steps, a map or the animation of one row."""

    step: Param[str] = choice(STEPS[0].key, [step.key for step in STEPS])
    picture: Param[str] = choice("map", ("map", "animation"))
    vector: Param[str] = choice("q", ("q", "k", "v"))
    part: Param[str] = choice("attention", ("attention", "ffn"))
    scaled: Param[bool] = flag(True)
    causal: Param[bool] = flag()
    temperature: Param[float] = number(1.0, LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE)
    stage: Param[int | None] = whole_number(None)

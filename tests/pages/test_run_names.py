"""The names of a run in an address are those of the app's values, with the same defaults."""

from __future__ import annotations

from encoder.run import Run, Text, Untrained, address
from pages.core.frame import frame
from pages.core.view.view import FIRST_SENTENCE
from pages.state import state

#: Values that the app chooses for the sentence while nobody has: a run has none. The first tower is that of texts.
CHOSEN = {"text", "layer", "head", "image", "sound", "tower"}


def test_each_name_of_a_run_is_a_value_of_the_app() -> None:
    frame.import_params()
    assert set(state.params) >= address.NAMES


def test_defaults_are_the_same_on_both_sides() -> None:
    frame.import_params()
    usual = {name: state.params[name] for name in address.NAMES - CHOSEN}
    values = {name: param.format(param.default) for name, param in usual.items() if param.default is not None}
    assert address.read(values | {"text": FIRST_SENTENCE}) == Run(input=Text(FIRST_SENTENCE))
    assert address.read_untrained(values) == Untrained()

"""The measures of a head: formula, source and one sentence, which pages show next to the number."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Definition:
    """A measure. formula: LaTeX; unit: "share" (0 to 1), "nats" or "tokens"; sentence: for a learner."""

    name: str
    title: str
    unit: str
    formula: str
    source: str
    sentence: str


OWN = "defined here"

#: The measures of `head_definitions.toml`, in its order.
HEAD_MEASURES = tuple(
    Definition(name, **fields)
    for name, fields in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
)

BY_NAME: dict[str, Definition] = {definition.name: definition for definition in HEAD_MEASURES}

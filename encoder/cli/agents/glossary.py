"""What a term of the field means: the glossary's entry as one answer."""

import difflib

from encoder.cli.agents.answer import Answer, view_of
from encoder.cli.inputs import Misuse
from encoder.words.glossary import BY_WORD, TERMS
from encoder.words.references import REFERENCES

#: Terms that an unknown one is answered with.
NEAREST = 3


def find(term: str) -> Answer:
    """The definition of a term, in any of its spellings. Raises Misuse for an unknown one, with the nearest."""
    found = BY_WORD.get(term.strip().lower())
    if found is None:
        near = difflib.get_close_matches(term.lower(), BY_WORD, NEAREST, 0.5) or [one.name for one in TERMS[:NEAREST]]
        raise Misuse(f"no term {term[:60]!r} in the glossary: try {', '.join(near)}, or read the resource glossary.")
    source = next((one for one in REFERENCES if one.name == found.source), None)
    sources = {} if source is None else {"source": f"{source.name}: {source.title}. {source.address}"}
    more = {"more": found.more} if found.more else {}
    return Answer(
        found.definition,
        assumptions={"term": found.name} | more | sources,
        link=view_of("glossary", "minilm", term=found.key),
    )

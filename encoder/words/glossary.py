"""The glossary's terms, from `glossary.md`."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """One term."""

    name: str
    #: Two sentences without markup, which are also the tooltip of a link.
    definition: str
    #: The folder of the app's page where you see it.
    page: str
    #: A formula (in dollars) or a number.
    more: str = ""
    #: Other spellings.
    words: tuple[str, ...] = ()
    #: The paper that it is from.
    source: str = ""

    @property
    def key(self) -> str:
        """Its name in the address."""
        return re.sub(r"[\[\]]", "", self.name.lower()).replace(" ", "-").replace("_", "-")


def _term(entry: str) -> Term:
    """A term as the file has it: its name, its definition, perhaps a formula or a number, then named lines."""
    name, definition, *lines = filter(None, map(str.strip, entry.splitlines()))
    named = dict(line.split(": ", 1) for line in lines if line.startswith(("Also: ", "Source: ", "Page: ")))
    more = next((line for line in lines if line.partition(": ")[0] not in named), "")
    words = tuple(named["Also"].split(", ")) if "Also" in named else ()
    return Term(name, definition, named["Page"], more, words, named.get("Source", ""))


def _groups(text: str) -> dict[str, tuple[Term, ...]]:
    groups = (re.split("^### ", part, flags=re.MULTILINE) for part in re.split("^## ", text, flags=re.MULTILINE)[1:])
    return {name.strip(): tuple(map(_term, entries)) for name, *entries in groups}


#: Group -> its terms, in an order in which they can be read.
GROUPS = _groups(Path(__file__).with_name("glossary.md").read_text(encoding="utf-8"))
TERMS = tuple(term for terms in GROUPS.values() for term in terms)
BY_KEY = {term.key: term for term in TERMS}
#: Every name and other spelling, in lower case -> its term.
BY_WORD = {word.lower(): term for term in TERMS for word in (term.name, *term.words)}

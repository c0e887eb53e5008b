"""The bibliography, from `references.md`: works that pages name by author and year."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reference:
    """One work. authors, year: as pages name it; showed: what it showed, and on which models."""

    authors: str
    year: int
    title: str
    venue: str
    address: str
    showed: str

    @property
    def key(self) -> str:
        """Its name in the address."""
        return f"{self.authors.split()[0].strip(',').lower()}-{self.year}"

    @property
    def name(self) -> str:
        """As pages name it."""
        return f"{self.authors} {self.year}"

    def entry(self) -> str:
        """The work in Markdown, as the file has it."""
        return f"**{self.name}**. *{self.title}*. [{self.venue}]({self.address})  \n{self.showed}"


_ENTRY = re.compile(r"\*\*(.+) (\d{4})\*\*\. \*(.+)\*\. \[(.+)\]\((.+)\)  \n(.+)")
REFERENCES = tuple(
    Reference(authors, int(year), *rest)
    for authors, year, *rest in _ENTRY.findall(Path(__file__).with_name("references.md").read_text(encoding="utf-8"))
)
BY_KEY = {reference.key: reference for reference in REFERENCES}

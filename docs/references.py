"""The bibliography as a page of `make docs` with an anchor for each work, and as BibTeX."""

from encoder.words.references import REFERENCES, Reference

HEADING = """# References

Every work that a page, a lesson or the glossary names by author and year, with what it showed and on which models.
{download}`All as BibTeX <references.bib>`: surnames only, as here; the address has the rest."""


def text() -> str:
    """The works, each after its anchor."""
    return "\n\n".join([HEADING, *(f"({one.key})=\n{one.entry()}" for one in REFERENCES)]) + "\n"


def linked(line: str) -> str:
    """A line that names works by author and year, with links to them."""
    for one in sorted(REFERENCES, key=lambda one: -len(one.name)):
        line = line.replace(one.name, f"[{one.name}](#{one.key})") if f"[{one.name}]" not in line else line
    return line


def bibtex() -> str:
    """The works for a paper's bibliography."""
    return "\n".join(map(_entry, REFERENCES))


def _entry(one: Reference) -> str:
    authors = one.authors.replace(" et al.", " and others").replace(", ", " and ").replace(" and and ", " and ")
    fields = {"author": authors, "title": f"{{{one.title}}}", "howpublished": one.venue}
    lines = [f"  {name} = {{{value}}}," for name, value in (fields | {"year": one.year, "url": one.address}).items()]
    return "\n".join([f"@misc{{{one.key},", *lines, "}", ""])

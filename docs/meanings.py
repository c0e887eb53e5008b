"""`python -m docs.meanings` writes the vectors of all that the search of the app finds by meaning.

pages/core/frame/meanings.safetensors: one int8 vector for each text. Run it after a change of a page's name, a term, a
lesson's titles, a document or pages/core/frame/how_to.yml; tests/pages/test_finding.py says when the file is old.
"""

from encoder import disk, load, search
from encoder.encoders.text import TextEncoder
from encoder.search import known
from pages.core.frame import meaning
from tests.pages.apps import visit
from tests.pages.test_finding import entries


def main() -> None:
    """Embed every text of every entry and write the file."""
    model = load(meaning.MODEL.source, device="cpu")
    assert isinstance(model, TextEncoder)
    found = entries(visit("glossary"))
    texts = sorted({meaning.compared(text) for entry in found for text, _ in meaning.texts_of(entry)})
    disk.write_file(meaning.FILE, known.to_bytes(search.embed(model, texts)))


if __name__ == "__main__":
    main()

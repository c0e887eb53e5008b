"""Documents that the project writes itself are up to date."""

from benchmarks.serving import rooms
from docs import corpus, pictures


def test_every_page_is_listed_with_a_picture() -> None:
    assert pictures.LIST.read_text(encoding="utf-8") == pictures.text()
    assert {file.stem for file in pictures.PICTURES.glob("*.webp")} == set(rooms())


def test_the_figures_of_the_atlases_are_those_of_the_document() -> None:
    assert corpus.FILE.read_text(encoding="utf-8") == corpus.text()

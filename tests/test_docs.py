"""Documents that the project writes itself are up to date."""

from benchmarks.serving import rooms
from docs import pictures


def test_every_page_is_listed_with_a_picture() -> None:
    assert pictures.LIST.read_text(encoding="utf-8") == pictures.text()
    assert {file.stem for file in pictures.PICTURES.glob("*.webp")} == set(rooms())

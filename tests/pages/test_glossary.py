"""The glossary: its terms, the links from words to it, its page, and docs/glossary.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import glossary as document
from pages.core.words import glossary
from pages.core.words.glossary_terms import BY_KEY, TERMS, Term
from pages.state import links
from tests.conftest import ROOT
from tests.pages.apps import assert_well, visit

LINK = re.compile(r'\[([^\]]+)\]\(glossary\?term=([\w-]+) "([^"]+)"\)')


def linked(text: str, **options: int) -> list[tuple[str, str]]:
    """The links in a text: word, key of its term."""
    return [(word, key) for word, key, _ in LINK.findall(glossary.linked(text, **options))]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.key)
def test_a_term_can_be_shown(term: Term) -> None:
    assert links.exists(term.page)
    assert '"' not in term.definition, "it is the title of a link"
    sentences = re.split(r"(?<=\.) (?=[A-Z])", term.definition.replace("et al. ", "et al "))
    assert len(sentences) == 2
    assert max(len(sentence.split()) for sentence in sentences) <= 20, "VOICE.md"
    for other in re.findall(r"\]\(#([\w-]+)\)", term.more):
        assert other in BY_KEY


def test_no_two_terms_share_a_word() -> None:
    words = [word.lower() for term in TERMS for word in (term.name, *term.words)]
    assert len(set(words)) == len(words)
    assert len(BY_KEY) == len(TERMS)


def test_only_the_first_use_of_a_term_is_linked() -> None:
    text = "A head compares a query with keys; another head has other queries."
    assert linked(text) == [("head", "head"), ("query", "query"), ("keys", "key")]
    assert linked(text, most=1) == [("head", "head")]
    assert LINK.sub(r"\1", glossary.linked(text)) == text


def test_a_longer_term_is_one_link() -> None:
    assert linked("an attention sink, and the attention weights on it") == [
        ("attention sink", "sink"), ("attention weights", "attention-weight"),
    ]  # fmt: skip


def test_names_formulas_code_and_links_stay_as_they_are() -> None:
    for text in ("**token**", "`score`", "$head$", "[head](x)", ":blue[**query**]", "[MASK]", "d_model_x", "keyboard"):
        assert glossary.linked(text) == text


def test_a_tooltip_is_the_definition() -> None:
    ((_, key, title),) = LINK.findall(glossary.linked("softmax"))
    assert title == BY_KEY[key].definition


def test_without_the_page_there_are_no_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(links, "PAGES", tmp_path)
    assert glossary.linked("a head") == "a head"


def test_the_page_shows_every_term_and_the_one_of_the_link() -> None:
    app = visit("glossary", term="sink")
    assert_well(app)
    shown = [element.value for element in app.main.markdown]
    for term in TERMS:
        assert shown.count(glossary.entry(term)) == (2 if term.key == "sink" else 1)


def test_the_document_is_up_to_date() -> None:
    assert document.FILE.read_text(encoding="utf-8") == document.text()
    assert f"docs/{document.FILE.name}" in (ROOT / "README.md").read_text(encoding="utf-8")

"""The glossary: its terms, the links from words to it, and its page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.SelectWidgetFilterMode_pb2 import SelectWidgetFilterMode

from encoder.encoders.text import TextEncoder
from encoder.measure import norm_weighting
from encoder.words.glossary import BY_KEY, TERMS, Term
from encoder.words.references import BY_KEY as BY_NAME
from encoder.words.references import REFERENCES, Reference
from pages.components.find import OPENER
from pages.core.frame import input_row
from pages.core.widgets import examples
from pages.core.words import glossary, references
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
        ("attention sink", "sink"),
        ("attention weights", "attention-weight"),
    ]


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


def test_the_list_finds_terms_by_their_other_words_and_nothing_unrelated() -> None:
    """Letters here and there in a title, as a fuzzy list takes them, would find works for any word."""
    app = visit("glossary")
    field = app.selectbox(key="words:find")
    assert field.proto.filter_mode == SelectWidgetFilterMode.Value("FILTER_MODE_CONTAINS")

    def found(typed: str) -> list[str]:
        return [one for one in field.options if typed.lower() in one.lower()]

    for word in (word for term in TERMS for word in (term.name, *term.words) if not word.endswith("s")):
        assert found(word), word
    assert [one.split(" (")[0] for one in found("ffn")] == ["feed-forward layer"]
    for typed in ("photosynthesis", "kubernetes", "blockchain", "election"):
        assert found(typed) == []
    assert [one for one in app.get("html") if OPENER in one.proto.body]


def on_screen() -> Iterator[tuple[str, str]]:
    """File and text of every sentence that a visitor may read: strings of pages and encoder, terms, and lessons."""
    for path in [*ROOT.glob("pages/**/*.py"), *ROOT.glob("encoder/**/*.py")]:
        docstrings = set()  # they are for developers
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
                docstrings.add(node.body[0].value)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                yield path.name, node.value
    for path in (
        *ROOT.glob("pages/**/*.md"),
        *ROOT.glob("encoder/words/*.md"),
        *ROOT.glob("encoder/**/*.toml"),
        *ROOT.glob("pages/**/*.yml"),
    ):
        if path.name != "references.md":
            yield path.name, path.read_text(encoding="utf-8")


def test_every_work_that_is_named_has_an_entry() -> None:
    name = r"[A-Z][\w’'-]+"
    cited = re.compile(rf"({name}(?: et al\.|(?:, {name})* and (?:van )?{name})),? \(?((?:19|20)\d\d)\b")
    texts = list(on_screen())
    found = {(match[1], int(match[2]), file) for file, text in texts for match in cited.finditer(text)}
    known = {(one.authors, one.year) for one in REFERENCES}
    assert {(authors, year) for authors, year, _ in found} <= known, found
    assert len(found) > 50
    documents = [(ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("research", "experiments")]
    named = "\n".join([*(text for _, text in texts), *documents])
    unused = [one.name for one in REFERENCES if not re.search(rf"{one.authors},? \(?{one.year}", named)]
    assert not unused


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda one: one.key)
def test_a_work_that_is_named_links_to_its_entry(reference: Reference) -> None:
    for said in (f"{reference.authors} {reference.year}", f"{reference.authors} ({reference.year}) say"):
        assert f"](glossary?cited={reference.key} " in references.cited(said)
        assert references.cited(references.cited(said)) == references.cited(said)
    assert reference.address.startswith("https://")
    assert '"' not in reference.title, "it is the title of a link"
    assert len({one.key for one in REFERENCES}) == len(REFERENCES)


def test_pages_link_their_sources_and_have_the_panel() -> None:
    app = visit("interventions", intervention="patching")
    assert any("(glossary?cited=heimersheim-2024 " in element.value for element in app.caption)
    app.session_state["lazy:words"] = True
    app.run()
    app.selectbox(key="panel:find").set_value("clark-2019").run()
    assert_well(app)
    assert BY_NAME["clark-2019"].entry() in [element.value for element in app.main.markdown]
    app = visit("glossary", cited="clark-2019")
    assert_well(app)
    assert [element.value for element in app.main.markdown].count(BY_NAME["clark-2019"].entry()) == 1
    app.session_state["lazy:references"] = True
    app.run()
    shown = [element.value for element in app.main.markdown]
    assert all(one.entry() in shown for one in REFERENCES)


def test_the_files_hold_every_entry_in_its_form() -> None:
    words = ROOT / "encoder/words"
    assert len(TERMS) == (words / "glossary.md").read_text(encoding="utf-8").count("\n### ") > 30
    entries = (words / "references.md").read_text(encoding="utf-8").split("\n\n")[2:]
    assert [entry.strip() for entry in entries] == [one.entry() for one in REFERENCES]


#: An author or authors with a year, not the words of a link.
AUTHOR_YEAR = re.compile(r"(?<![\[\w])[A-Z][\w’-]+(?: et al\.|(?:, [A-Z]\w+)* and [A-Z][\w’-]+),? \(?(?:19|20)\d\d")
#: Two sentences whose similarity is split in a moment.
SHORT = {"text": "a cat", "similar_to": "a dog"}
#: Views that name works: page and values; of parts that are closed at first, the names.
NAMING_WORKS = [
    ("contribution", {"beyond": part, "text": "a cat"}, ())
    for part in ("moves", "rollout", "plane", "deletion", "class")
] + [
    ("model", {"start": "1"}, ("model-ways",)), ("heads", {}, ()), ("heads", {"layer": "5", "head": "3"}, ()),
    *(("positions", {"positions_part": "encoding", **values}, ()) for values in (
        {}, {"model": "scratch", "positions": "rotary"}, {"model": "scratch", "positions": "sinusoidal"})),
    ("positions", {}, ()), ("norms", {"norm_part": "others"}, ()),
    ("feed_forward", {}, ()), ("interventions", {}, ("connections",)),
    ("interventions", {"intervention": "patching"}, ()),
    ("pre_post", {}, ()), ("training", {}, ()), ("texts", SHORT, ()),
    ("predict", {"model": "twin-post", "text": "the [MASK] sat"}, ()), ("by_hand", {}, ()),
]  # fmt: skip


@pytest.mark.sample(3, "opens another page")
@pytest.mark.parametrize(("page", "values", "opened"), NAMING_WORKS, ids=[f"{p}{v}" for p, v, _ in NAMING_WORKS])
def test_no_author_and_year_is_without_a_link(page: str, values: dict[str, str], opened: tuple[str, ...]) -> None:
    app = visit(page, **values)
    if opened:
        for part in opened:
            app.session_state[f"lazy:{part}"] = True
        app.run()
    assert not app.exception
    said = [element.value for kind in ("markdown", "caption", "info") for element in app.get(kind)]
    assert not [one for one in said if AUTHOR_YEAR.search(one.replace("**", ""))]


def test_the_shares_of_cls_are_those_of_the_first_example(minilm: TextEncoder) -> None:
    trace = minilm.trace(str(next(iter(examples.read(input_row.__file__, "text").values()))["text"]))
    heads = [(layer, head) for layer in range(6) for head in range(12)]
    weights = [float(trace.attention(*place)[:, 0].mean()) for place in heads]
    shares = [float(norm_weighting.norm_weighted_shares(trace, *place)[:, 0].mean()) for place in heads]
    said = re.findall(r"0\.\d\d", BY_KEY["cls-as-an-attention-sink"].more)
    assert said == [f"{sum(values) / len(heads):.2f}" for values in (weights, shares)]

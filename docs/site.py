"""`python -m docs.site [FOLDER]` makes the site, by default in `site/`: static files for any web server."""

import argparse
import html
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from markdown_it import MarkdownIt

from encoder import ImageEncoder, TextEncoder, load
from encoder.inputs import digits
from encoder.live.packed import browser_model
from encoder.live.pages import (
    SiteModel,
    SitePage,
    by_hand_page,
    controls,
    drawings,
    heads_page,
    model_page,
    predict_page,
    similarity_page,
)
from encoder.live.site import by_hand, write
from encoder.views import stills
from encoder.views.model_picture import model_picture
from encoder.words.glossary import GROUPS
from pages.core.frame import input_row
from pages.core.frame.frame import import_params
from pages.core.widgets import examples
from pages.teaching.lessons import library, material
from pages.teaching.lessons.lesson import Lesson

SENTENCES = [str(one["text"]) for one in examples.read(input_row.__file__, "text").values()][:3]
#: The largest difference of MiniLM here from the app over 50 texts, as a share of the largest number of its kind.
ROUNDED = 5e-4
MODELS = (
    SiteModel("twin-pre", "Pre-norm twin (4 layers)", app={"model": "twin-pre"}),
    SiteModel("twin-post", "Post-norm twin (4 layers)", app={"model": "twin-post"}),
    SiteModel("minilm", "MiniLM (6 layers, 44 MB)",
              "The weights of MiniLM are rounded to 16 bits here. The largest difference from the app over 50 texts is "
              f"{ROUNDED:g} of the largest number of its kind.", {"model": "minilm"}),
    SiteModel("digits-pre", "Digits", app={"model": "digits-pre"}),
)  # fmt: skip
TEXTS = MODELS[:3]
LESSONS = ("03-one-weight-by-hand", "04-heads", "08-pre-norm-or-post-norm")
HIDDEN = "The keys to the old cabinet [MASK] on the table."


def pages() -> list[SitePage]:
    """The pages of the site, in the order of the bar."""
    import_params()  # a lesson is read with the values of all pages
    return [
        model_page(TEXTS, SENTENCES),
        heads_page(TEXTS, SENTENCES),
        SitePage(
            "pre_post",
            "Pre/post-norm",
            "How does the norm of the residual stream grow in each?",
            controls(TEXTS[:1], SENTENCES) + drawings("pre", "post", below=True),
            app="pre_post",
        ),
        predict_page(TEXTS[:2], [HIDDEN]),
        similarity_page(TEXTS),
        SitePage(
            "digit",
            "Digits",
            "Which patches of your digit does each head attend to?",
            controls((), [], texts=())
            + '<div class="drawing" id="draw"></div><div class="site-examples" id="digits"></div>'
            + drawings("model"),
        ),
        by_hand_page(),
        SitePage("lessons", "Lessons", "What will you predict, compute and explain?", _lessons(), app="lessons"),
        SitePage("glossary", "Glossary", "What does each term mean?", _glossary(), app="glossary"),
    ]


def _lessons() -> str:
    """The list of LESSONS; each is a page of its own, whose answers become a code for the teacher."""
    rows = []
    for one in map(_lesson, LESSONS):
        asked = sum(step.question is not None for step in one.steps)
        rows.append(
            f'<dt><a href="{one.name}.html">{html.escape(one.heading)}</a></dt>'
            f"<dd>{asked} questions, {one.minutes} minutes</dd>"
        )
    return f"<dl>{''.join(rows)}</dl>"


def _lesson(name: str) -> Lesson:
    found = library.find(name)
    assert found is not None
    return found


def _glossary() -> str:
    html_of = MarkdownIt("commonmark", {"html": False}).render
    return "".join(
        f"<h2>{html.escape(group)}</h2><dl>"
        + "".join(
            f'<dt id="{term.key}">{html.escape(term.name)}</dt><dd>{html_of(term.definition)}</dd>' for term in terms
        )
        + "</dl>"
        for group, terms in GROUPS.items()
    )


def shared() -> dict[str, object]:
    """What the scripts of the pages need besides models: digits to try, and the numbers of By hand."""
    return {"digits": digits.examples(), "hand": by_hand()}


def write_site(
    folder: Path,
    site_pages: Sequence[SitePage],
    models: Sequence[SiteModel],
    texts: Mapping[str, str] | None = None,
    address: str = "",
) -> None:
    """Write pages of the site with these models, the first of which is of text.

    texts: further files by their path; address: where the folder will be. Raises what `encoder.live.site.write`
    raises, LoadError for an unknown model.
    """
    opened = {one: load(one.name) for one in models}
    first = opened[models[0]]
    assert isinstance(first, TextEncoder)
    trace = first.trace(SENTENCES[0])
    packed = {
        one: browser_model(model) for one, model in opened.items() if isinstance(model, TextEncoder | ImageEncoder)
    }
    write(
        folder,
        site_pages,
        packed,
        first=model_picture(trace, model=models[0].title),
        examples=SENTENCES[:2],
        hidden=HIDDEN,
        more=shared(),
        texts=texts,
        address=address,
        still=stills.of_all_heads(trace, models[0].title),
    )


def main() -> None:
    """Make the site."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description="Make the site: files for any web server.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("site"), help="by default site/")
    parser.add_argument(
        "--address", default="", metavar="URL", help="where it will be: links to it then have a picture"
    )
    given = parser.parse_args()
    folder = given.folder
    lessons = {f"lessons/{name}.html": material.student(_lesson(name)) for name in LESSONS}
    write_site(folder, pages(), MODELS, lessons, given.address)
    sys.stdout.write(f"{folder}: open it with `python -m http.server --directory {folder}`.\n")


if __name__ == "__main__":
    main()

"""The pages of a folder whose pages compute in the browser: their controls, and the places of their pictures."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from encoder.views.options import COMPARED, HEAD_VIEWS, NORMS_MOVED

#: Scripts of a page with the map of a head.
PLOTLY = ("plotly.js",)
#: Below the pictures: the address of the view, and the line that shows it in another page.
SHARE = (
    '<details class="site-share"><summary>Export and share</summary>'
    '<label>Link to this view <input readonly id="share-link"></label>'
    '<label>HTML line that shows this view in a page of yours <textarea readonly rows="2" id="share-frame"></textarea>'
    "</label></details>"
)


@dataclass(frozen=True)
class SitePage:
    """A page of the site. folder: "" is the first page; question: what its picture answers; body: HTML between the
    navigation and the footer; title: in the bar; scripts: further scripts of the folder that the page uses; app: the
    page of the app with the same view."""

    folder: str
    title: str
    question: str
    body: str
    scripts: tuple[str, ...] = ()
    app: str = ""


@dataclass(frozen=True)
class SiteModel:
    """A model that readers choose: its name in addresses and files, its title, and a note below its pictures.

    app: the values of an address of the app that open it there; None where it is known on the publisher's machine only.
    """

    name: str
    title: str
    note: str = ""
    app: Mapping[str, str] | None = field(default=None, hash=False)


def model_page(models: Sequence[SiteModel], examples: Sequence[str]) -> SitePage:
    """The whole model, with one layer open."""
    question = "What does a transformer encoder do with your sentence?"
    return SitePage("", "Model", question, controls(models, examples) + drawings("model"))


def heads_page(models: Sequence[SiteModel], examples: Sequence[str]) -> SitePage:
    """All heads as small maps, and one of them."""
    return SitePage(
        "heads", "Heads", "Which tokens does each head attend to?", _head(models, examples), PLOTLY, "heads"
    )


def similarity_page(models: Sequence[SiteModel]) -> SitePage:
    """Two sentences, and what each word does to their cosine."""
    question = "Which words make two sentences similar?"
    body = controls(models, (), texts=(("text", "Sentence A"), ("similar_to", "Sentence B"))) + drawings()
    return SitePage("similarity", "Similarity", question, body, app="texts")


def predict_page(models: Sequence[SiteModel], examples: Sequence[str]) -> SitePage:
    """The same, and the words that the model expects at the hidden ones."""
    question = "Which word does the model expect?"
    return SitePage("predict", "Predict", question, _head(models, examples), PLOTLY, "predict")


def by_hand_page() -> SitePage:
    """One layer, whose numbers a reader changes."""
    body = '<div class="drawing" id="by_hand"></div>'
    return SitePage("by_hand", "By hand", "Can you compute one encoder layer yourself?", body, app="by_hand")


def _head(models: Sequence[SiteModel], examples: Sequence[str]) -> str:
    what = {name: title.format(input="sentence") for name, title in COMPARED.items()}
    others = {"moved": NORMS_MOVED} | {one.name: one.title for one in models}
    side_b = (
        _select("compare", "What to compare", what)
        + _only("compare sentences", _text("text_b", "Sentence B"))
        + _only("compare models", _select("model_b", "Model B", others))
        + _only("compare heads models", _number("layer_b", "Layer B") + _number("head_b", "Head B"))
    )
    view = f'<div class="site-input">{_select("view", "View", HEAD_VIEWS)}{_only("view beside", side_b)}</div>'
    return controls(models, examples, names=("layer", "head")) + view + drawings("grid", "head")


def _only(value: str, fields: str) -> str:
    """Fields that a page shows while a name of its address, the first word, has one of the values after it."""
    return f'<div class="site-input" data-only="{value}">{fields}</div>'


def _select(name: str, label: str, options: Mapping[str, str]) -> str:
    titles = "".join(f'<option value="{one}">{html.escape(title)}</option>' for one, title in options.items())
    return f'<label>{label} <select data-name="{name}">{titles}</select></label>'


def _number(name: str, label: str) -> str:
    return f'<label>{label} <input type="number" min="0" data-name="{name}"></label>'


def _text(name: str, label: str) -> str:
    return f'<label>{label} <textarea data-name="{name}" rows="2"></textarea></label>'


def controls(
    models: Sequence[SiteModel],
    examples: Sequence[str],
    *,
    names: Sequence[str] = (),
    texts: Sequence[tuple[str, str]] = (("text", "Sentence"),),
) -> str:
    """The fields of texts (their names in the address, and their labels), the choice of the model, and number fields of
    the address such as "layer" and "head"."""
    fields = "".join(_number(name, name.capitalize()) for name in names)
    buttons = "".join(
        f'<button type="button" data-example="{html.escape(text, quote=True)}">{html.escape(text)}</button>'
        for text in examples
    )
    field = "".join(_text(name, label) for name, label in texts)
    choice = _select("model", "Model", {one.name: one.title for one in models}) if models else ""
    return (
        f'<div class="site-input">{field}{choice}{fields}</div><div class="site-examples">{buttons}</div>'
        '<p id="status" role="status"></p>'
    )


def drawings(*names: str, below: bool = False) -> str:
    """Places for pictures, side by side where there is room, or one below the other."""
    places = "".join(f'<div class="drawing" id="{name}"></div>' for name in names)
    return f'<div class="{"" if below else "site-drawings"}">{places}</div><div id="said"></div><p id="note"></p>'

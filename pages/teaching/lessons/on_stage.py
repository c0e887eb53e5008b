"""What of a page is on stage in a step of a lesson, as a style that is sent with the step and at no other time.

A rule of every page would cost time at each change of a drawing. The page is the real one, so a reader selects things
in its picture; the controls around it are hidden until she asks for them.
"""

from encoder.errors import EncoderError
from pages.teaching.lessons.lesson import Step
from pages.teaching.lessons.library import look_of

#: Controls, titles and further parts of pages: none of them is what a step is about.
_AROUND = """
.stMain :is([data-testid="stLayoutWrapper"]:has(> :is(.st-key-title-place, .st-key-input)), .st-key-page-title,
  .st-key-input-windows, .st-key-norm-change, .st-key-heads-below, .st-key-heads-ask,
  .st-key-picture-place, .st-key-head-place .stNumberInput, [class*="st-key-controls-"], [class*="st-key-lazy-"],
  [data-testid="stPageLink"]) {
  display: none !important; }
.st-key-lesson-stage { --enc-stage: 1; }
.st-key-lesson-stage :is(.enc-model-bar, .enc-model-heads p) { display: none !important; }
.stMainBlockContainer { padding-inline: 1rem !important; padding-bottom: 0.5rem !important; }
"""
#: The open part of the model's picture covers the picture, in larger type.
_PART = """
.st-key-lesson-stage .enc-model:has(.enc-model-opened:not([hidden])) { --enc-type: var(--enc-stage-type, 1.2);
  display: flex; flex-direction: column; height: calc(100vh - 7rem); }
.st-key-lesson-stage .enc-model:has(.enc-model-opened:not([hidden])) > :not(:has(.enc-model-opened)) { display: none; }
.st-key-lesson-stage .enc-model > :has(.enc-model-opened:not([hidden])) { flex: 1; min-height: 0; }
.st-key-lesson-stage .enc-model :has(> .enc-model-opened:not([hidden])) { height: 100%; overflow: hidden; }
.st-key-lesson-stage:has(.enc-model-opened:not([hidden])) .st-key-model-said { display: none; }
.st-key-lesson-stage .enc-model-opened:not([hidden]) { position: absolute; inset: 0 !important; width: auto !important;
  max-height: none !important; padding: 1rem 1.5rem; animation: none; box-shadow: none; z-index: 5; }
.st-key-lesson-stage .enc-model-more { display: none !important; }
"""
#: FLOPs are on stage, which the questions are about.
_COST = """
.st-key-lesson-stage :is(.st-key-model-said, .stColumn:has(.st-key-model-cost-bytes)) { display: none !important; }
"""
#: One head is on stage, without the small maps of all heads.
_HEAD = """
.stMain :is(.st-key-heads-grid, .st-key-heads-words) { display: none !important; }
.stMain .st-key-heads-body { grid-template-columns: minmax(0, 1fr) !important; }
.stMain .st-key-heads-body > :nth-child(2) {
  grid-column: 1 !important; margin-top: 0 !important; position: static !important; }
"""


#: Type of the model's picture on a wall, and the share of the window that the step's text has above it. A projector of
#: 720 rows gets two thirds of the type of one of 1,080: the same share of the window.
_WALL = """
.enc-on-wall .st-key-lesson-stage {{ --enc-type: {type}; --enc-stage-text: {text};
  @media (max-height: 800px) {{ --enc-type: {low:.2g}; }} }}
"""
#: The types: with few words; next to a decoder; of a long sentence below a text.
_LARGE, _OF_PAIR, _BELOW_TEXT = 3, 2.1, 2
#: Tokens that have room in large type below a text of so many letters at most, and the text's share.
_MOST_LARGE, _MOST_LETTERS, _TEXT = 9, 250, 0.15


def has_text(step: Step) -> bool:
    """Whether a wall has the text of a step above its page. The model's picture leaves room for it, a plot does not."""
    return step.question is None and step.view.get("page") == "model"


def _on_wall(step: Step) -> str:
    """The type of the model's picture, for what has to be in the window."""
    text = _TEXT if has_text(step) else 0
    try:
        look = look_of(step.view)
    except EncoderError:  # the page says why
        return _sized(_LARGE, text)
    if look.loaded.decoder is not None:
        return _sized(_OF_PAIR, text)
    is_large = look.trace.n_tokens <= _MOST_LARGE and len(step.prose) <= _MOST_LETTERS
    return _sized(_LARGE if is_large or not text else _BELOW_TEXT, text)


def _sized(size: float, text: float) -> str:
    return _WALL.format(type=size, low=size * 2 / 3, text=text)


def style(step: Step | None = None) -> str:
    """The style of a step's stage, an HTML element; None: of a page without a lesson."""
    rules = _AROUND
    if step is None:
        return f"<style>{rules}</style>"
    page = step.view.get("page")
    if step.view.get("show") == "cost":
        rules += _COST
    if page == "model":
        rules += _on_wall(step)
    if page == "model" and "step" in step.view:
        rules += _PART
    if page == "heads" and not (step.question is not None and step.question.kind == "head"):
        rules += _HEAD
    return f"<style>{rules}</style>"

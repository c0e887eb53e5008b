"""The values of the page “Probes” in the address. The reader's own file stays out of it."""

from encoder.checkpoints import BUNDLED
from pages.state import Param, choice, several, state, whole_number

TASKS = ("word_pos", "pos", "lexname", "file")
#: What a probe predicts, in the question below the title.
PREDICTED = {
    "word_pos": "a word’s part of speech", "pos": "a word’s part of speech, from its definition",
    "lexname": "a word’s field, from its definition", "file": "the labels of your file",
}  # fmt: skip
VIEWS = {"token": "One token", "mean": "Mean", "cls": "[CLS]", "max": "Maximum"}
#: The same in a sentence.
VECTORS = {"token": "one token’s vector", "mean": "the mean of the vectors", "cls": "the vector of [CLS]",
           "max": "the maximum of the vectors"}  # fmt: skip
BESIDE = {name: one.label for name, one in BUNDLED.items() if one.kinds == ("text",)}


@state.register
class Params:
    """The task, the views whose curves are drawn, more models, and the selected probe."""

    task: Param[str] = choice("word_pos", TASKS, url="probe_task")
    views: Param[list[str]] = several(["token", "mean", "cls"], VIEWS, url="probe_views")
    beside: Param[list[str]] = several([], BESIDE, url="probe_models")
    view: Param[str] = choice("token", VIEWS, url="probe_view")
    layer: Param[int | None] = whole_number(None, url="probe_layer")

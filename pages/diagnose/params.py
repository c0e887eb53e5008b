"""The values of the page “Diagnose” in the address. Texts and vectors are the reader's own and stay out of it."""

from encoder.diagnose.faults.precision import TOLERANCES
from pages.state import Param, choice, state, string, whole_number

#: Up to how many faults together are searched.
TOGETHER = {"1": "single faults", "2": "pairs, too", "3": "up to three"}

#: Where the other program's vectors come from. A shared server has OF_A_VISITOR only: it asks no address and opens
#: no file that a visitor names.
SOURCES = {"file": "a file", "pasted": "JSON", "server": "a server", "onnx": "an ONNX file"}
OF_A_VISITOR = ("file", "pasted")
#: What runs texts only.
NEEDS_TEXTS = ("onnx",)


@state.register
class Params:
    """Where the vectors come from, what the reference puts before a text, number type and batch of the other program,
    another model that it may use, how many faults together, the text whose vector is shown."""

    source: Param[str] = choice("file", SOURCES, url="their_vectors")
    address: Param[str] = string(url="their_address", in_links=False)
    server_model: Param[str] = string(url="their_model", in_links=False)
    onnx: Param[str] = string(url="their_onnx", in_links=False)
    prompt: Param[str] = string(url="their_prompt")
    other: Param[str] = string(url="other_source")
    precision: Param[str] = choice("float32", TOLERANCES, url="their_precision")
    batch: Param[int | None] = whole_number(None, 1, 2_000, url="their_batch")
    together: Param[str] = choice("1", TOGETHER, url="faults_together")
    text_of: Param[int | None] = whole_number(None, 0, 2_000, url="differing_text")

"""The values of the page “Diagnose” in the address. Texts and vectors are the reader's own and stay out of it."""

from encoder.diagnose.faults.precision import TOLERANCES
from pages.state import Param, choice, state, whole_number

#: Up to how many faults together are searched.
TOGETHER = {"1": "single faults", "2": "pairs, too", "3": "up to three"}


@state.register
class Params:
    """The number type and the batch of the other program, how many faults together, the text whose vector is shown."""

    precision: Param[str] = choice("float32", TOLERANCES, url="their_precision")
    batch: Param[int | None] = whole_number(None, 1, 2_000, url="their_batch")
    together: Param[str] = choice("1", TOGETHER, url="faults_together")
    text_of: Param[int | None] = whole_number(None, 0, 2_000, url="differing_text")

"""Effects of many edited runs: kept for all sessions, computed at once for short texts, drawn while they fill."""

from collections.abc import Callable, Hashable, Iterator

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import EncoderError
from encoder.causal import Progress
from pages.base.work import long_work
from pages.components import plot
from pages.core.stores import results

#: Up to this many tokens in all runs together, effects are computed without being asked.
AT_ONCE = 8_192


def measured(
    key: str,
    what: Hashable,
    steps: Callable[[], Iterator[Progress]],
    picture: Callable[[np.ndarray], go.Figure],
    *,
    runs: int,
    n_tokens: int,
    longest: int,
    label: str,
    doing: str,
) -> np.ndarray | None:
    """The effects, or None while they wait for a click.

    key: of the widgets; what: names the effects and all that changes them; steps: measures them; picture: draws what is
    known so far; longest: tokens of the longest text; label: of the button; doing: the sentence of the progress bar.
    Raises EncoderError for a longer text, and where the engine refuses.
    """
    area = st.container(key=f"measuring-{key}")  # in every run: else all that follows is drawn again after the work
    found: np.ndarray | None = results.known(key, what)
    if found is not None:
        return found
    if n_tokens > longest:
        raise EncoderError(f"This input has {n_tokens:,} tokens; the map is limited to {longest}. Use a shorter one.")
    ask = "" if runs * n_tokens <= AT_ONCE else f"The map needs {runs:,} runs of {n_tokens:,} tokens."
    place = area.empty()
    place_key = f"_place:{key}"
    st.session_state[place_key] = place  # of the newest run: the work may have begun in an earlier one

    def work() -> long_work.Work[np.ndarray]:
        step = None
        for step in steps():
            if step.done < step.total:
                figure = picture(step.values.numpy())
                progress = f"{doing}: {step.done} of {step.total}"
                with st.session_state[place_key]:
                    plot(figure, key=f"{key}:{step.done}", alt=progress, height=300)
                yield step.done / step.total, f"{progress} …"
        assert step is not None
        return step.values.numpy()

    with area:
        found = results.of_work(key, what, work, label=label, ask=ask)
    place.empty()
    return found

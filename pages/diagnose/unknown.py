"""What the page shows where no fault explains the vectors: how far off, what was excluded, what to try next."""

import streamlit as st

from encoder import diagnose
from encoder.diagnose.faults.precision import GRIDS
from encoder.diagnose.unexplained import name_of
from encoder.diagnose.verdict import batches_said
from pages.components.lazy import expander
from pages.core.view import View
from pages.core.words import plain
from pages.diagnose.given import LINES
from pages.diagnose.params import Params
from pages.state import state

#: In the session: a click has asked for a search, which begins without another one.
BEGIN = "diagnose:begins"


def draw(view: View, found: diagnose.Verdict) -> None:
    """The errors in figures and what they suggest, the excluded groups with their names behind a fold, the next
    steps."""
    for name, said in zip(("How far off", "What the errors share"), found.looked_like, strict=False):
        st.markdown(f"**{name}.** {plain(said)}")
    next_steps(view, found)
    if found.excluded:
        st.markdown(f"**Excluded as the only fault.** Each was run: {', '.join(found.groups)}.")
        if (part := expander(f"Names of the {len(found.excluded)} excluded faults", "diagnose-excluded")) is not None:
            part.markdown("\n".join(f"- {group}: {', '.join(names)}" for group, names in found.groups.items()))


def next_steps(view: View, found: diagnose.Verdict) -> None:
    """What to do now, each as a button of this page or the name of its control."""
    rounds = found.errors is not None and found.errors.like is not None
    own = view.loaded.takes == "text"
    steps = []
    if own and found.not_excluded and not rounds:
        steps.append(f"{batches_said(found)} Enter yours under *Texts in its batch*, in **Adjust**.")
    if not state.get(Params.other).strip() and not rounds:
        steps.append("Another model was not tried: enter it under *Another model that it may use*, in **Adjust**.")
    if own and found.proposed:
        steps.append("These texts tell most next to yours. Add them, and paste or upload the vectors of all texts:")
        steps += [f"    - {plain(name_of(text))}" for text in found.proposed]
    st.markdown("**Next.**\n" + "\n".join(one if one.startswith(" ") else f"- {one}" for one in steps))
    with st.container(horizontal=True, key="diagnose-next"):
        if found.errors is not None and found.errors.like is not None:
            kind = found.errors.like[0].kind
            st.button(
                f"Accept {stated(kind)} rounding",
                icon=":material/play_arrow:",
                key="diagnose:rounding",
                on_click=accept,
                args=(stated(kind),),
                help="Sets “Its number type”, and searches again: errors of its size are then accepted.",
            )
        if found.more:
            st.button(
                found.more, icon=":material/play_arrow:", key="diagnose:more", on_click=search_more, args=(found,)
            )
        if own and found.proposed:
            st.button(
                f"Add the texts ({len(found.proposed)})",
                icon=":material/add:",
                key="diagnose:add",
                on_click=add,
                args=(found.proposed,),
            )


def stated(kind: str) -> str:
    """The number type of the list for a kind of rounding: grids of 8 bits are int8."""
    return "int8" if kind in GRIDS else kind


def search_more(found: diagnose.Verdict) -> None:
    """Begin the search of one more fault together."""
    state.put(Params.together, str(found.together + 1))
    st.session_state[BEGIN] = True


def accept(precision: str) -> None:
    """Begin a search that accepts rounding of this type."""
    state.put(Params.precision, precision)
    st.session_state[BEGIN] = True


def add(texts: tuple[str, ...]) -> None:
    """Put texts below the others."""
    lines = st.session_state.get(LINES) or st.session_state.get(f"{LINES}:kept", "")
    st.session_state[LINES] = "\n".join([lines.rstrip("\n"), *texts])

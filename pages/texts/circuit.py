"""The circuit of the cosine: the share of each component, and the check by switching it off."""

from functools import partial

import streamlit as st

from encoder.export import why as export
from pages.core.stores import input_kinds
from pages.core.view import ViewParams, selection
from pages.core.widgets import answer
from pages.core.words import in_columns, number, references
from pages.state import links, state
from pages.texts.subject import Subject

#: Column of the table -> its heading.
COLUMNS = {"component": "Component", "share": "Share (predicted)", "measured": "Lost when off (measured)"}
#: Heads that are buttons.
OPENED = 6
#: Below this correlation, shares do not predict what the cosine loses.
AGREES = 0.5


def draw(subject: Subject) -> None:
    """The largest shares, the table, and buttons that open a head on the query."""
    why = subject.why
    if why.kind != "cosine":
        st.info("A circuit is the sum that makes one vector: choose a model whose score is a cosine.")
        return
    found = subject.worked("circuit", lambda: why.whole_circuit, "Switch components off")
    if found is None:
        return
    first = ", ".join(f"**{one.name}** {number(one.share)}" for one in found.components[:3])
    match = ""
    if found.correlation is not None:
        match = f" Correlation of predicted and measured: **{number(found.correlation, 2)}**."
        if found.correlation < AGREES:
            match += " Here a share does not predict the loss, so use what was measured."
    with answer.area():
        answer.draw(f"Largest shares of the cosine: {first}.{match}")
    table = export.circuit_table(why).rename(columns=COLUMNS)
    numbers = list(COLUMNS.values())[1:]
    st.dataframe(in_columns(table, numbers, 4, missing="not measured"), hide_index=True, height=360)
    st.markdown(f"Sum of all shares: **{number(found.sum, 4)}** = cosine **{number(found.cosine, 4)}**.")
    heads = [one for one in found.components if one.head is not None][:OPENED]
    with st.container(horizontal=True, key="texts-heads"):
        for one in heads:
            for at, what in enumerate(("query", "text")):
                if _has(subject, at, one.name):
                    st.button(
                        f"{one.name} on the {what}",
                        key=f"texts:head:{one.name}:{what}",
                        type="tertiary",
                        on_click=partial(_open, subject, at, one.layer or 0, one.head or 0),
                    )
    references.caption(
        "Every norm is fixed at this run’s mean and deviation, so the vectors are sums of what components write (Elhage"
        " et al. 2021). A share is the mean over both texts. Measured: the component is off in one text at a time, "
        "later layers react, and the vector gets another length, which a cosine does not see. So components that point "
        "the same way can replace each other."
    )


def _has(subject: Subject, at: int, name: str) -> bool:
    """Whether an input goes through a component: a model with two encoders names each one's by what it accepts."""
    kinds = [side.model.takes for side in subject.why.source.sides]
    return kinds[0] == kinds[1] or name.startswith(kinds[at])


def _open(subject: Subject, at: int, layer: int, head: int) -> None:
    """Let “Heads” open with the query (0) or the text (1), and a head. For callbacks."""
    takes = subject.why.source.sides[at].model.takes
    state.put_all({ViewParams.layer: layer, ViewParams.head: head, ViewParams.tower: takes})
    if takes == "text":
        state.put_all({ViewParams.text: (subject.query, subject.text)[at], ViewParams.pair: ""})
    else:
        input_kinds.SOURCES[takes].choose(subject.names[at])  # type: ignore[attr-defined]
    selection.select(None, None)
    links.open_later("heads")

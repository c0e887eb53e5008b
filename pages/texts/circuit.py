"""The circuit of the cosine: the share of each component, and the check by switching it off."""

from functools import partial

import streamlit as st

from encoder.export import why as export
from pages.core.view import ViewParams, selection
from pages.core.widgets import answer
from pages.core.words import number, references
from pages.state import links, state
from pages.texts.subject import Subject

#: Heads that are buttons.
OPENED = 6


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
    match = (
        ""
        if found.correlation is None
        else f" Correlation of predicted and measured: **{number(found.correlation, 2)}**."
    )
    with answer.area():
        answer.draw(f"Largest shares of the cosine: {first}.{match}")
    st.dataframe(
        export.circuit_table(why).rename(
            columns={
                "component": "Component",
                "share": "Share (predicted)",
                "measured": "Lost when off (measured)",
            }
        ),
        hide_index=True,
        height=360,
        column_config={
            name: st.column_config.NumberColumn(format="%.4f")
            for name in ("Share (predicted)", "Lost when off (measured)")
        },
    )
    st.markdown(f"Sum of all shares: **{number(found.sum, 4)}** = cosine **{number(found.cosine, 4)}**.")
    heads = [one for one in found.components if one.head is not None][:OPENED]
    with st.container(horizontal=True, key="texts-heads"):
        for one in heads:
            for what, text in (("query", subject.query), ("text", subject.text)):
                st.button(
                    f"{one.name} on the {what}",
                    key=f"texts:head:{one.name}:{what}",
                    type="tertiary",
                    on_click=partial(_open, text, one.layer or 0, one.head or 0),
                )
    references.caption(
        "Every norm is fixed at this run’s mean and deviation, so the vectors are sums of what components write (Elhage"
        " et al. 2021). A share is the mean over both texts. Measured: the component is off in one text at a time, and "
        "later layers react."
    )


def _open(text: str, layer: int, head: int) -> None:
    """Let “Heads” open with a text and a head. For callbacks."""
    state.put_all({ViewParams.text: text, ViewParams.pair: "", ViewParams.layer: layer, ViewParams.head: head})
    selection.select(None, None)
    links.open_later("heads")

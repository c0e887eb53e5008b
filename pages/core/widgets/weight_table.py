"""A table of weights with bars."""

from html import escape

import streamlit as st

from encoder.figures.numbers import three_digits


def draw(rows: list[tuple[str, int | str, float]], n_summed: int = 1, what: str = "Weight") -> None:
    """Label, position and weight, with a bar from 0 to the largest possible value: 1 for each of the summed weights.

    A table of HTML: for Streamlit's own, a browser fetches 0.3 MB of scripts. what: the name of the weights.
    """
    body = "".join(
        f"<tr><td>{escape(label)}</td><td>{escape(str(position))}</td><td>{three_digits(weight)}"
        f'<i style="width:{100 * weight / n_summed:.1f}%"></i></td></tr>'
        for label, position, weight in rows
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Token", "Position", what))
    st.html(f'<table class="enc-weights"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')

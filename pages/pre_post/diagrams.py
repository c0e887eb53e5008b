"""Two block diagrams, `pre.svg` and `post.svg`: where the norms are in one layer of each placement."""

from pathlib import Path
from string import Template

import streamlit as st

from encoder.figures.colours import EMPHASIS
from encoder.figures.placements import PLACEMENT_COLOURS, PLACEMENT_NAMES

FORMULAS = {"pre": "x ← x + f({norm}(x))", "post": "x ← {norm}(x + f(x))"}
ORDER = {
    "pre": "The residual stream runs through without a norm. Each sublayer reads it through one {norm} and adds its "
    "output. One final {norm} follows the last layer.",
    "post": "Each sublayer reads the residual stream directly. Its output is added, and one {norm} rescales the sum.",
}


def diagrams(n_layers: int, norm: str) -> None:
    """Both placements side by side. n_layers: of the two encoders; norm: the name of their norms."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    ink, ground = (st.get_option(f"theme.{theme}.{name}") for name in ("textColor", "backgroundColor"))
    with st.container(key="norm-diagrams"):
        columns = st.columns(2, gap="medium")
    for column, placement in zip(columns, ORDER, strict=True):
        with column:
            said = f"{PLACEMENT_NAMES[placement]}: {FORMULAS[placement]}. {ORDER[placement]}".format(norm=norm)
            st.image(svg(placement, n_layers, norm, ink, ground), width="stretch", alt=said)
            st.caption(said)


def svg(placement: str, n_layers: int, norm: str, ink: str, ground: str) -> str:
    """The drawing. norm: the name of the norms; ink, ground: colours of its text and lines, and of the page."""
    drawing = Template(Path(__file__).with_name(f"{placement}.svg").read_text(encoding="utf-8"))
    return drawing.substitute(
        layers=n_layers, name=norm, ink=ink, ground=ground, stream=EMPHASIS, norm=PLACEMENT_COLOURS[placement]
    )

"""The recorded training curves that ship: both twins, both without warm-up, and twelve layers of each kind."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from encoder.errors import EncoderError

if TYPE_CHECKING:
    import pandas

#: Where the finished twins and the curves ship.
DATA = Path(__file__).parent.parent / "data"
FILE = "curves.parquet"


@cache
def _read(path: Path) -> pandas.DataFrame:
    import pandas as pd

    return pd.read_parquet(path)


def recorded(path: Path | None = None) -> pandas.DataFrame:
    """One row every 25 steps of a run, as a copy that may be changed.

    run: "twin-pre", "twin-post-no-warmup", "deep-pre", ...; norm_placement, n_layers, d_model, warmup_steps: of its
    recipe; status: how it ended; step, tokens, seconds: so far; loss: training, mean since the last row, nats;
    learning_rate; gradient_norm: before clipping; held_out_loss, held_out_accuracy: NaN in rows without a look at
    the held-out sentences. Raises EncoderError where no curves have been recorded.
    """
    path = path or DATA / FILE
    if not path.is_file():
        raise EncoderError(f"There is no {path.name}: train the twins with make twins, which records it.")
    return _read(path).copy()

"""The recorded training curves that ship: the twins, the twins without warm-up, and twelve layers of each kind."""

from functools import cache
from pathlib import Path

import pandas as pd

from encoder.errors import EncoderError

#: The folder of the finished twins and of the curves.
DATA = Path(__file__).parent.parent / "data"
FILE = "curves.parquet"


@cache
def _read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)


def recorded(path: Path | None = None) -> pd.DataFrame:
    """One row every 25 steps of a run, as a copy that a caller may change.

    run: "twin-pre", "twin-post-no-warmup", "deep-pre", ...; norm_placement, n_layers, d_model, warmup_steps: of its
    recipe; status: how it ended; step, tokens, seconds: so far; loss: training, mean since the last row, nats;
    learning_rate; gradient_norm: before clipping; held_out_loss, held_out_accuracy: NaN in rows without an evaluation.
    Each run has one seed. Raises EncoderError without recorded curves.
    """
    path = path or DATA / FILE
    if not path.is_file():
        raise EncoderError(f"{path.name} is missing: record it with make twins.")
    return _read(path).copy()


def at_common_step(table: pd.DataFrame) -> tuple[int, pd.DataFrame]:
    """All runs at the last step at which every run was evaluated.

    Returns that step and a table of held-out accuracies, 0 to 1: a row for each n_layers and warm_up ("with",
    "without"), a column for each norm placement.
    """
    seen = table[table.held_out_accuracy.notna()]
    steps = set.intersection(*(set(rows.step) for _, rows in seen.groupby("run", observed=True)))
    step = int(max(steps))
    there = seen[seen.step == step]
    warm = (there.warmup_steps > 0).map({True: "with", False: "without"})
    there = there.assign(warm_up=warm, norm_placement=there.norm_placement.astype(str))
    return step, there.pivot(index=["n_layers", "warm_up"], columns="norm_placement", values="held_out_accuracy")

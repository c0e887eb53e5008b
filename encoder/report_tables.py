"""The numbers of pages as tables, for files that are taken away: a row a number's place, a column a number.

Shapes: L layers, T tokens (queries i, keys j), D d_model, K width of a head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from encoder.measure import norm_weighted, norms, positions, rollout
from encoder.report import EXACT_TOKENS, attention_frame
from encoder.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


def vectors_frame(trace: Trace, layer: int, head: int) -> pd.DataFrame:
    """q, k and v of one head: a row a token and component, T x K of them."""
    import pandas as pd

    q, k, v = (part[head].float().cpu().numpy() for part in trace.layer_qkv(layer))  # [T, K]
    n_tokens, width = q.shape
    return pd.DataFrame(
        {
            "position": np.repeat(np.arange(n_tokens), width),
            "token": np.repeat(np.array(trace.labels, dtype=object), width),
            "component": np.tile(np.arange(width), n_tokens),
            "q": q.ravel(),
            "k": k.ravel(),
            "v": v.ravel(),
        }
    )


def norms_frame(trace: Trace) -> pd.DataFrame:
    """Mean and population standard deviation of every token before and after every norm: a row a norm and token."""
    import pandas as pd

    found = norms.statistics(trace)
    n_tokens = trace.n_tokens
    return pd.DataFrame(
        {
            "norm": np.repeat(np.array(found.names, dtype=object), n_tokens),
            "position": np.tile(np.arange(n_tokens), len(found.names)),
            "token": list(trace.labels) * len(found.names),
            "mean_before": found.before[0].ravel(),
            "std_before": found.before[1].ravel(),
            "mean_after": found.after[0].ravel(),
            "std_after": found.after[1].ravel(),
        }
    )


def positions_frame(trace: Trace, layer: int) -> pd.DataFrame:
    """What tells a token's place: the vector added to it, a row a position and component; with rotary positions cosine
    and sine of the angle by which a layer turns each pair of components; without positions an empty table.
    """
    import pandas as pd

    added = trace.position
    if added is not None:
        numbers = {"value": added.float().cpu().numpy()}
        count = "component"
    elif trace.config.position == "rotary":
        cos, sin = positions.turns(trace.config, layer, trace.n_tokens)
        numbers, count = {"cos": cos, "sin": sin}, "pair"
    else:
        return pd.DataFrame({"position": [], "component": [], "value": []})
    n_tokens, width = next(iter(numbers.values())).shape
    places = {
        "position": np.repeat(np.arange(n_tokens), width),
        count: np.tile(np.arange(width), n_tokens),
    }
    return pd.DataFrame(places | {name: part.ravel() for name, part in numbers.items()})


def moved_frame(trace: Trace, layer: int, head: int) -> pd.DataFrame:
    """Each weight of a head beside what it moves, its length and its share of the row (Kobayashi et al. 2020).

    Of more than EXACT_TOKENS tokens a row a key: mean weight on it, length ||f(x_j)||, mean length moved.
    """
    import pandas as pd

    if trace.n_tokens > EXACT_TOKENS:
        found = norm_weighted.layer_shares(trace, layer)
        return pd.DataFrame(
            {
                "key": np.arange(trace.n_tokens),
                "key_token": list(trace.labels),
                "mean_weight": found.attention[head],
                "value_length": found.norms[head],
                "mean_moved": found.moved[head],
            }
        )
    frame = attention_frame(trace.attention(layer, head).cpu(), trace.labels)
    weighted = norm_weighted.norm_weighted(trace, layer, head).cpu()
    frame["moved"] = weighted.numpy().ravel()
    frame["moved_share"] = norm_weighted.as_shares(weighted).numpy().ravel()
    return frame


def rollout_frame(trace: Trace, layer: int, query: int | None = None) -> pd.DataFrame:
    """The rollout up to a layer, a row a token and input token; of more than EXACT_TOKENS tokens one query's row."""
    chosen = None if trace.n_tokens <= EXACT_TOKENS else slice(query or 0, (query or 0) + 1)
    made = rollout.rollout(trace, layer, chosen).cpu()
    frame = attention_frame(made, trace.labels[chosen or slice(None)], key_labels=trace.labels)
    frame["query"] += 0 if chosen is None else chosen.start
    return frame.rename(columns={"key": "input", "key_token": "input_token", "weight": "share"})

"""The command `generate`: what a decoder writes, and with which probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoder.cli.command import Result
from encoder.cli.inputs import Input

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def generated(item: Input) -> Result:
    """A row for each token of the output: its probability, and the most probable one in its place."""
    import pandas as pd

    from encoder.export import still

    options = item.options
    found = item.model.generate(
        item.trace, options.max_tokens, beams=options.beams, target=options.target, begin=options.begin
    )

    def table() -> pd.DataFrame:
        rows = [
            {"position": place, "token": step.label, "id": step.id, "log_probability": step.log_probability,
             "likeliest": step.labels[0], "likeliest_log_probability": step.log_probabilities[0]}
            for place, step in enumerate(found.steps)
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def arrays() -> dict[str, np.ndarray]:
        numbers = table()
        whole = {name: numbers[name].to_numpy() for name in ("id", "log_probability")}
        if item.model.decoder.reads:
            whole["cross_attention"] = found.trace.decoder.cross_attentions.cpu().numpy()  # [L, H, T, S]
        return whole

    log_p = table()[["log_probability", "likeliest_log_probability"]].to_numpy().T
    names = ("written", "likeliest")
    return Result(
        lambda: [table()], arrays,
        lambda: still.matrix("log probability", log_p, names, [step.label for step in found.steps], signed=True),
        name=f"{len(found.steps)} tokens of {item.model.name}", shown=table,
        facts=item.facts(output=found.text, log_probability=round(found.log_probability, 6)),
        said=f"{found.text}\nlog probability {found.log_probability:.4f}"
        + "".join(f"\n{one.score:.4f}  {one.text}" for one in found.hypotheses[1:]),
    )  # fmt: skip

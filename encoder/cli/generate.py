"""The command `generate`: what a decoder writes, and with which probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoder.cli.command import Result
from encoder.cli.inputs import Input

if TYPE_CHECKING:
    import numpy as np


def generated(item: Input) -> Result:
    """A row for each token of the output: its probability, and the most probable one in its place."""
    from encoder.export import still

    options = item.options
    found = item.model.generate(
        item.trace, options.max_tokens, beams=options.beams, target=options.target, begin=options.begin
    )

    table = found.table()

    def arrays() -> dict[str, np.ndarray]:
        whole = {name: table[name].to_numpy() for name in ("id", "log_probability")}
        if item.model.decoder.reads:
            whole["cross_attention"] = found.trace.decoder.cross_attentions.cpu().numpy()  # [L, H, T, S]
        return whole

    log_p = table[["log_probability", "likeliest_log_probability"]].to_numpy().T
    names = ("written", "likeliest")
    return Result(
        lambda: [table], arrays,
        lambda: still.matrix("log probability", log_p, names, [step.label for step in found.steps], signed=True),
        name=f"{len(found.steps)} tokens of {item.model.name}", shown=lambda: table,
        facts=item.facts(output=found.text, log_probability=round(found.log_probability, 6)),
        said=f"{found.text}\nlog probability {found.log_probability:.4f}"
        + "".join(f"\n{one.score:.4f}  {one.text}" for one in found.hypotheses[1:]),
    )  # fmt: skip

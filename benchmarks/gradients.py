"""Gradients at initialisation against Xiong et al. 2020: `python -m benchmarks.gradients [--json FILE]`.

Prints the figures that the page on gradients speaks of, and whether each lies where theory and our own bar have it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from encoder.config import NORM_PLACEMENTS
from encoder.train import gradients

#: Where the slope of the last layer's gradient norm over depth must lie.
SLOPE = {"pre": (-0.60, -0.35), "post": (-0.15, 0.15)}
#: Where post-norm's squared norm over D must lie; theory: 1.5.
POST_SQUARED_NORM = (1.2, 1.8)


def run(depths: Sequence[int], seeds: Sequence[int], setting: gradients.Setting, quiet: bool = False) -> dict[str, Any]:
    """All measurements, and the figures drawn from them."""
    began, found = time.perf_counter(), []
    for entry in gradients.measure_all(depths, seeds, setting):
        found.append(entry)
        if not quiet:
            print(f"\r{len(found)}/{gradients.count(depths, seeds)}", end="", file=sys.stderr, flush=True)
    if not quiet:
        print(file=sys.stderr)
    return figures(found) | {
        "setting": {"d_model": setting.d_model, "depths": list(depths), "seeds": list(seeds)},
        "seconds": round(time.perf_counter() - began, 1),
    }


def figures(found: Sequence[gradients.Measurement]) -> dict[str, Any]:
    """Slopes, mean gradient norms by depth, the extremes of the squared norms, and "ok" for each bar."""
    result: dict[str, Any] = {"ok": {}}
    frame = gradients.to_frame(found)
    depths = sorted({entry.depth for entry in found})
    for placement in NORM_PLACEMENTS:
        fit = gradients.fit_slope(found, placement)  # type: ignore[arg-type]
        rows = frame[frame.placement == placement]
        by_depth = {
            depth: statistics.mean(e.last_gradient_norm for e in found if (e.depth, e.placement) == (depth, placement))
            for depth in depths
        }
        result[placement] = {
            "slope": None if fit is None else fit.slope,
            "last_gradient_norm": by_depth,
            "squared_norm": {"least": float(rows.squared_norm.min()), "most": float(rows.squared_norm.max())},
        }
        if fit is not None:
            result["ok"][f"{placement} slope"] = SLOPE[placement][0] <= fit.slope <= SLOPE[placement][1]
    low, high = POST_SQUARED_NORM
    # The lemma is about expectations: a layer's mean over the seeds is judged. "least" and "most" are of single runs.
    means = frame.groupby(["placement", "depth", "layer"])[["squared_norm", "lower", "upper"]].mean()
    post, pre = means.loc["post"], means.loc["pre"]
    result["ok"]["post squared norm"] = bool(post.squared_norm.between(low, high).all())
    result["ok"]["pre squared norm"] = bool(pre.squared_norm.between(pre.lower, pre.upper).all())
    last = pre.groupby("depth").tail(1)
    result["pre"]["squared_norm_after_last_layer"] = {
        int(depth): [round(float(v), 2) for v in row]
        for (depth, _), row in zip(last.index, last.to_numpy(), strict=True)
    }
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0 when every figure lies where it should."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradients", description=__doc__)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--depths", type=int, nargs="+", default=list(gradients.DEPTHS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--json", type=Path, default=None, help="write the figures there")
    options = parser.parse_args(arguments)
    result = run(options.depths, options.seeds, gradients.Setting(d_model=options.width))
    print(f"width {options.width}, {len(options.seeds)} seeds, {result['seconds']} s\n")
    print(f"{'last layer gradient norm at depth':36}" + "".join(f"{depth:>9}" for depth in sorted(options.depths)))
    for placement in NORM_PLACEMENTS:
        norms = result[placement]["last_gradient_norm"]
        print(f"{placement + '-norm':36}" + "".join(f"{norms[depth]:9.4f}" for depth in sorted(norms)))
    print()
    for placement in NORM_PLACEMENTS:
        theory, (low, high) = gradients.theorem_exponent(placement), SLOPE[placement]  # type: ignore[arg-type]
        print(
            f"{placement}-norm slope {result[placement]['slope']:+.3f}   theory {theory:+.1f}"
            f"   bar {low:+.2f} to {high:+.2f}"
        )
    squared = result["post"]["squared_norm"]
    print(f"post-norm squared norm / d {squared['least']:.3f} to {squared['most']:.3f}   theory 1.5   bar 1.2 to 1.8")
    for depth, (value, lower, upper) in result["pre"]["squared_norm_after_last_layer"].items():
        print(f"pre-norm squared norm / d after {depth:>2} layers {value:6.2f}   lemma {lower:.1f} to {upper:.1f}")
    print("\n" + "\n".join(f"{'ok    ' if ok else 'MISSED'} {name}" for name, ok in result["ok"].items()))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if all(result["ok"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())

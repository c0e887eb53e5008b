"""Gradients at initialisation next to the bounds of Xiong et al. 2020: `python -m benchmarks.gradients [--json FILE]`.

Prints the figures of the page “Gradients at initialisation” at full size, and whether each is in its expected range.
The ranges of the slopes are ours: Theorem 1 gives upper bounds, not values.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from encoder.model.config import NORM_PLACEMENTS
from encoder.train import gradients

#: Expected slope of the last layer's gradient norm over depth.
SLOPE = {"pre": (-0.60, -0.35), "post": (-0.15, 0.15)}
#: Expected squared norm over D in post-norm; Lemma 2: 1.5.
POST_SQUARED_NORM = (1.2, 1.8)


def run(depths: Sequence[int], seeds: Sequence[int], setting: gradients.Setting, quiet: bool = False) -> dict[str, Any]:
    """All measurements, and the figures from them."""
    began, found = time.perf_counter(), []
    for entry in gradients.measure_all(depths, seeds, setting):
        found.append(entry)
        if not quiet:
            print(f"\r{len(found)}/{len(gradients.cases(depths, seeds))}", end="", file=sys.stderr, flush=True)
    if not quiet:
        print(file=sys.stderr)
    return figures(found) | {
        "setting": {"d_model": setting.d_model, "depths": list(depths), "seeds": list(seeds)},
        "seconds": round(time.perf_counter() - began, 1),
    }


def figures(found: Sequence[gradients.Measurement]) -> dict[str, Any]:
    """Slopes, mean gradient norms by depth, extremes of the squared norms, and "ok" for each bar."""
    frame = gradients.to_frame(found)
    last = frame[frame.layer == frame.depth - 1].groupby(["placement", "depth"]).gradient_norm.mean()
    # The lemma is about expectations, so a layer's mean over the seeds is judged. "least" and "most" are single runs.
    means = frame.groupby(["placement", "depth", "layer"])[["squared_norm", "lower", "upper"]].mean()
    post, pre = means.loc["post"], means.loc["pre"]
    result: dict[str, Any] = {
        "ok": {
            "post squared norm": bool(post.squared_norm.between(*POST_SQUARED_NORM).all()),
            "pre squared norm": bool(pre.squared_norm.between(pre.lower, pre.upper).all()),
        }
    }
    for placement in NORM_PLACEMENTS:
        slope = gradients.fit_slope(found, placement)
        squared = frame[frame.placement == placement].squared_norm
        result[placement] = {
            "slope": slope,
            "last_gradient_norm": last[placement].to_dict(),
            "squared_norm": {"least": float(squared.min()), "most": float(squared.max())},
        }
        if slope is not None:
            result["ok"][f"{placement} slope"] = SLOPE[placement][0] <= slope <= SLOPE[placement][1]
    result["pre"]["squared_norm_after_last_layer"] = {
        int(row.depth): [round(float(value), 2) for value in (row.squared_norm, row.lower, row.upper)]
        for row in pre.groupby("depth").tail(1).reset_index().itertuples()
    }
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0 if every figure is in its range."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradients", description=__doc__)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--depths", type=int, nargs="+", default=list(gradients.DEPTHS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--json", type=Path, default=None, help="file for the figures")
    options = parser.parse_args(arguments)
    result = run(options.depths, options.seeds, gradients.Setting(d_model=options.width))
    print(f"width {options.width}, {len(options.seeds)} seeds, {result['seconds']} s\n")
    print(f"{'last layer gradient norm at depth':36}" + "".join(f"{depth:>9}" for depth in sorted(options.depths)))
    for placement in NORM_PLACEMENTS:
        norms = result[placement]["last_gradient_norm"]
        print(f"{placement + '-norm':36}" + "".join(f"{norms[depth]:9.4f}" for depth in sorted(norms)))
    print()
    for placement in NORM_PLACEMENTS:
        theory, (low, high) = gradients.theorem_exponent(placement), SLOPE[placement]
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

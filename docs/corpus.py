"""Writes docs/corpus.md: what the bundled atlases say, in the form of Clark et al. 2019. `python -m docs.corpus`."""

from pathlib import Path

import numpy as np

from encoder import corpus
from encoder.corpus import Atlas

FILE = Path(__file__).parent / "corpus.md"
HEAD = """# Heads over 2,000 sentences

`python -m docs.corpus` writes this file from the bundled atlases: 2,000 example sentences of WordNet in each bundled
text model, without padding. A number is the mean over the texts; the interval of a head is the 95% interval of a
bootstrap over the texts. The twins were trained on WordNet's texts, so these sentences are not new to them.

Clark et al. (2019, sections 3.1 and 3.2) report for BERT-base, over 1,000 segments of Wikipedia: some heads give more
than half of their attention to the previous or to the next token, and in layers 6 to 10 over half of all attention goes
to [SEP]. Our sentences have 10 tokens on average, so uniform attention would give each token a tenth, and [CLS] and
[SEP] are larger shares of a text. The form is theirs; the numbers do not compare.
"""
STEPS = """
## Compare two models, or two steps of a training

On Head types, “Over a corpus” opens one atlas after the other: those of the twins, and yours from a folder.
`encoder.corpus.difference` gives the difference of a head in two atlases, with its interval. Steps of a training need a
checkpoint of each, as a folder. The twins' own training saves such folders (ten minutes on one core; fetches WordNet):

```bash no-run
python -m recipes.twins --runs twin-post --save-at 0 500 1000 2000
mkdir atlases
for step in 0 500 1000 2000; do
    encoderscope corpus build build/twins/twin-post-$step --texts wordnet --most 1000 --out atlases/step-$step
done
encoderscope --atlases-root atlases
```

Open Head types, “Over a corpus”, and choose the atlas step-500, then step-2000. Weights on a neighbour
over 1,000 sentences, in one run of these commands on 22 November 2026:

| after steps | on the previous token: L0 H1 (interval) | on the next token: L0 H3 (interval) |
|--:|--:|--:|
| 0 | 0.078 (0.076 to 0.080) | 0.108 (0.105 to 0.112) |
| 500 | 0.081 (0.079 to 0.084) | 0.128 (0.125 to 0.133) |
| 1,000 | 0.163 (0.159 to 0.167) | 0.219 (0.213 to 0.225) |
| 2,000 | 0.710 (0.706 to 0.713) | 0.665 (0.661 to 0.670) |

In this run, both heads turn to one neighbour between steps 1,000 and 2,000. In the bundled twin, trained to step 15,000
in another run, the previous-token head is L0 H2: which head attends to a neighbour may differ between runs.
"""

ROWS = {
    "previous": "the previous token", "self": "the token itself", "next": "the next token", "cls": "[CLS]",
    "sep": "[SEP]", "punctuation": "punctuation",
}  # fmt: skip
HALF = 0.5


def text() -> str:
    """What corpus.md holds."""
    atlases = [corpus.open_atlas(folder) for folder in corpus.bundled_atlases().values()]
    return HEAD + "".join(map(_of_model, atlases)) + _misleading(atlases) + STEPS


def _of_model(atlas: Atlas) -> str:
    layers = range(atlas.n_layers)
    lines = [
        f"\n## {atlas.model_name}: {atlas.n_layers} × {atlas.n_heads} heads, {atlas.n_tokens:,} tokens\n",
        f"| attention to | {' | '.join(f'L{layer}' for layer in layers)} | largest head (interval) | above one half |",
        f"|:--|{'--:|' * atlas.n_layers}:--|--:|",
    ]
    lines += [_row(atlas, measure, name) for measure, name in ROWS.items()]
    return "\n".join([*lines, "", "L0 and so on: the mean over the heads of a layer.", ""])


def _row(atlas: Atlas, measure: str, name: str) -> str:
    mean, low, high = (atlas.array(measure, statistic) for statistic in ("mean", "low", "high"))
    of_layers = " | ".join(f"{value:.2f}" for value in mean.mean(1))
    best = np.unravel_index(int(mean.argmax()), mean.shape)
    largest = f"L{best[0]} H{best[1]}: {mean[best]:.3f} ({low[best]:.3f} to {high[best]:.3f})"
    return f"| {name} | {of_layers} | {largest} | {int((mean > HALF).sum())} of {mean.size} |"


def misleading(atlas: Atlas) -> tuple[float, float, int]:
    """(share of the head types of one text that the corpus does not confirm, share of those of the corpus that one text
    does not show, types of the corpus); expectations for one text of the corpus drawn at random, default thresholds."""
    types = atlas.types()
    share, by_mean = types["share"].to_numpy(), types["by_mean"].to_numpy(dtype=bool)
    return float(share[~by_mean].sum() / share.sum()), float((1 - share[by_mean]).mean()), int(by_mean.sum())


def _misleading(atlases: list[Atlas]) -> str:
    lines = [
        "\n## How often one sentence misleads\n",
        "A head has a type by one sentence, or by the means over all (default thresholds of the page Head types).\n",
        "| model | head types over the corpus | of these, one sentence misses | of the types that one sentence shows, "
        "the corpus does not confirm |",
        "|:--|--:|--:|--:|",
    ]
    for atlas in atlases:
        wrong, missed, count = misleading(atlas)
        lines.append(f"| {atlas.model_name} | {count} | {missed:.0%} | {wrong:.0%} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file."""
    FILE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()

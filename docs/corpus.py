"""Writes docs/corpus.md: what the bundled atlases say, in the form of Clark et al. 2019. `python -m docs.corpus`."""

from pathlib import Path

import numpy as np

from encoder import corpus
from encoder.corpus import Atlas

FILE = Path(__file__).parent / "corpus.md"
HEAD = """# Heads over 2,000 sentences

`python -m docs.corpus` writes this file from the bundled atlases: 2,000 example sentences of WordNet in each bundled
text model, without padding. A number is the mean over the texts, L0 that over the heads of layer 0; the interval of a
head is the 95% interval of a bootstrap over the texts. [atlas.md](atlas.md) has the method and builds such an atlas of
your texts. The twins were trained on texts of WordNet, so these sentences are not new to them.

Clark et al. (2019, sections 3.1 and 3.2) report for BERT-base, over 1,000 segments of Wikipedia: some heads give more
than half of their attention to the previous or to the next token, and in layers 6 to 10 over half of all attention goes
to [SEP]. Our sentences have 10 tokens on average, so uniform attention would give each token a tenth, and [CLS] and
[SEP] are larger shares of a text. The form is theirs; the numbers do not compare.
"""

ROWS = {
    "previous": "the previous token", "self": "the token itself", "next": "the next token", "cls": "[CLS]",
    "sep": "[SEP]", "punctuation": "punctuation",
}  # fmt: skip
HALF = 0.5


def text() -> str:
    """What corpus.md holds."""
    atlases = [corpus.open_atlas(folder) for folder in corpus.bundled_atlases().values()]
    return HEAD + "".join(map(_of_model, atlases)) + _misleading(atlases)


def _of_model(atlas: Atlas) -> str:
    layers = range(atlas.n_layers)
    lines = [
        f"\n## {atlas.model_name}: {atlas.n_layers} × {atlas.n_heads} heads, {atlas.n_tokens:,} tokens\n",
        f"| attention to | {' | '.join(f'L{layer}' for layer in layers)} | largest head (interval) | above one half |",
        f"|:--|{'--:|' * atlas.n_layers}:--|--:|",
    ]
    lines += [_row(atlas, measure, name) for measure, name in ROWS.items()]
    return "\n".join([*lines, ""])


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
        "A head has a type by one sentence, or by the means over all (default thresholds of the page Heads).\n",
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

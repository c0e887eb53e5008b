"""What docs/research.md says that it found, computed again from what its lines make."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from docs.gallery import last_value

#: A head, a token in quotes, or a number.
QUOTED = re.compile(r"L(\d+) H(\d+)|“([^”]+)”|(?<![\w-])(−?\d+(?:\.\d+)?)(?![\w-])")

#: Question, as `file_name` writes it -> lines that end with the heads, tokens and numbers of its finding and its limit,
#: in their order. `place(values, n)` and `value(values, n)` are of the n-th largest of an array, from 0.
LINES = {
    "which-heads-attend-to-the-previous": """
first = place(previous.mean)
first, value(previous.mean), value(previous.mean, 1), len(texts), first
""",
    "how-much-attention-goes-to-cls": """
later = table[1:]
1, *both_ends(later.cls), later[["sep", "punctuation"]].max().max()
""",
    "how-broad-is-the-attention-of": """
entropy = measure.heads(trace)["relative_entropy"]
value(entropy, -1), place(entropy, -1), value(entropy), place(entropy)
""",
    "which-token-is-an-attention-sink": """
received[0], received[1:].max(), 1 / len(received)
""",
    "does-a-large-weight-mean-a": """
weights, shares = trace.attention(layer, head), shares / shares.sum(dim=-1, keepdim=True)
it, cat = trace.labels.index("it"), trace.labels.index("cat")
(layer, head), weights[:, 0].mean(), shares[:, 0].mean(), "it", "cat", weights[it, cat], shares[it, cat]
""",
    "how-does-information-flow-through-all": """
flow = measure.rollout(trace, -1)
[first] = set(flow.argmax(dim=1).tolist())
trace.labels[first], *both_ends(flow[:, first]), value(np.delete(flow.numpy(), first, axis=1))
""",
    "which-heads-are-alike": """
table = np.asarray(measure.head_similarity(trace).divergence)
pairs = np.where(np.tri(len(table), dtype=bool), np.nan, table)
near, far = (np.unravel_index(find(pairs), pairs.shape) for find in (np.nanargmin, np.nanargmax))
heads = [divmod(int(one), model.config.n_heads) for one in (*near, *far)]
*heads[:2], pairs[near], *heads[2:], pairs[far], np.log(2)
""",
    "what-does-each-head-cause": """
falls = -off.mean
first, second = (
    (at, falls[at], -off.high[at], -off.low[at]) for at in (place(falls), place(falls, 1))
)
*first, *second, len(off.values)
""",
    "how-many-heads-can-go": """
half, random = curve.counts.index(8), curve.random.mean(0)
8, curve.counts[-1], -curve.by_importance[half], -random[half], -random[-1], 3
""",
    "which-vector-carries-the-difference-between": """
share = causal.carried_share(causal.patch(twin, *texts_ab, man).numpy(), *ends)
labels, at = twin.trace(texts_ab[0]).labels, place(share)[1]
labels[at], place(share)[0], share[-1, at], len(share) - 1, share[-1, labels.index("[MASK]")]
""",
    "can-two-passes-replace-a-run": """
found.correlation, value(found.estimate), found.exact[place(found.estimate)], found.exact.numel()
""",
    "which-token-does-a-prediction-need": """
cuts, labels = causal.knock_out(twin, masked, query=2, outcome=man), twin.trace(masked).labels
(low, least), (high, most), (other, again) = place(cuts, -1), place(cuts), place(cuts, 1)
assert most == again
-value(cuts, -1), labels[least], low, cuts[high, most], labels[most], *sorted([high, other])
""",
    "which-tokens-does-an-outcome-depend": """
labels, (first, second, least) = twin.trace(masked).labels, (place(found.values, n)[0] for n in (0, 1, -1))
(labels[first], found.values[first], labels[second], found.values[second], labels[least], -found.values[least],
    found.error)
""",
    "which-attention-weights-matter": """
sums = weights.abs().sum(dim=(-1, -2))
place(sums), value(sums), place(sums, 1), value(sums, 1), agree.loc["weight", "slope"]
""",
    "which-heads-write-towards-a-word": """
direct = gradients.direct_effect(pre.trace(masked), man).heads
place(direct, -1), man.word, value(direct, -1), place(direct), value(direct), place(direct, 1)
""",
    "why-are-two-sentences-alike": """
one, other = shown.largest(2)
shown.tokens[0][one[0]], shown.tokens[1][one[1]], one[2], shown.tokens[0][other[0]], shown.tokens[1][other[1]], other[2]
""",
    "how-do-gradients-grow-with-depth": """
last = found.groupby(["placement", "depth"]).gradient_norm.last()
2, 4, last["pre", 2], last["pre", 4], last["post", 2], last["post", 4], 4
""",
    "in-which-layer-is-part-of": """
best = int(accuracy.accuracy.argmax())
score = accuracy.scores[best]
best, score.accuracy, *score.interval, accuracy.controls[best].accuracy, len(score.right)
""",
    "how-alike-are-the-cls-vectors": """
min(cosines[:-1]), len(cosines) - 1, cosines[-1], len(cosines), len(texts)
""",
    "how-does-the-residual-stream-grow": """
assert (found.ffn_update > found.attention_update).all()
low, high = np.floor(found.length.min()), np.ceil(found.length.max())
*both_ends(found.ffn_update), *both_ends(found.attention_update), low, high
""",
}


def place(values: Any, n: int = 0) -> tuple[int, ...]:
    """Where the n-th largest value of an array is."""
    values = np.asarray(values)
    return tuple(map(int, np.unravel_index(values.argsort(axis=None)[::-1][n], values.shape)))


def value(values: Any, n: int = 0) -> float:
    """The n-th largest value of an array."""
    return float(np.asarray(values)[place(values, n)])


def both_ends(values: Any) -> tuple[float, float]:
    """The smallest and the largest value."""
    return value(values, -1), value(values)


def of_the_run(name: str, made: dict[str, Any]) -> list[Any]:
    """What the finding must quote. made: the names after the question's lines, and `shown`, what they show."""
    return [*last_value(LINES[name], made | {"place": place, "value": value, "both_ends": both_ends})]


def quoted(text: str) -> list[Any]:
    """What a finding quotes: (layer, head), tokens, and numbers, which equal what rounds to them."""
    found: list[Any] = []
    for layer, head, token, number in QUOTED.findall(re.sub(r"\]\([^)]*\)", "]", text)):
        digits = len(number.partition(".")[2])
        exact = number and pytest.approx(
            float(number.replace("−", "-")), abs=0.51 * 10**-digits if digits else 0, rel=0
        )
        found.append((int(layer), int(head)) if layer else token or exact)
    return found

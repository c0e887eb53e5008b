"""The measures of a head: formula, source and one sentence, which pages show next to the number.

In the formulas A is the attention map, i a query, j a key, n the number of real tokens, Q the queries that count; t_j
is the token at j, w_j its word. Padding is neither a query nor a key.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Definition:
    """A measure. formula: LaTeX; unit: "share" (0 to 1), "nats" or "tokens"; sentence: for a learner."""

    name: str
    title: str
    unit: str
    formula: str
    source: str
    sentence: str


CLARK = "Clark et al. 2019, What Does BERT Look At?"
VOITA = "Voita et al. 2019, Analyzing Multi-Head Self-Attention"
VIG = "Vig and Belinkov 2019, Analyzing the Structure of Attention in a Transformer Language Model"
WANG = "duplicate-token heads in Wang et al. 2023, Interpretability in the Wild"
OWN = "defined here"

_MEAN = r"\frac{1}{|Q|}\sum_{i\in Q}"
_SOME = r"\frac{1}{|Q'|}\sum_{i\in Q'}"
_TOP = r"\frac{1}{|Q'|}\,"
_ENTROPY = r"\Big(-\sum_j A_{ij}\ln A_{ij}\Big)"

HEAD_MEASURES: tuple[Definition, ...] = (
    Definition(
        "entropy", "Entropy", "nats", _MEAN + _ENTROPY, f"{CLARK}, section 3.3",
        "How widely queries spread their attention: 0 for one token only, ln n for uniform attention.",
    ),
    Definition(
        "relative_entropy", "Normalised entropy", "share", rf"\frac{{1}}{{\ln n}}\,{_MEAN}{_ENTROPY}",
        "entropy divided by that of uniform attention",
        "Entropy divided by its maximum ln n, from 0 to 1, so that texts of different length compare. Under a causal "
        "mask, query i sees i + 1 tokens: the maximum is the mean of ln(i + 1).",
    ),
    Definition(
        "distance", "Mean distance", "tokens", _MEAN + r"\sum_j A_{ij}\,|i-j|", VIG,
        "Mean distance |i − j| of query and key, weighted by attention: 1 for neighbours, 0 for the token itself.",
    ),
    Definition(
        "self", "On itself", "share", _MEAN + "A_{ii}", f"{CLARK}, section 3.1", "Mean weight of a token on itself.",
    ),
    Definition(
        "previous", "On the previous token", "share", _SOME + r"A_{i,i-1},\quad Q'=\{i\in Q: i>0\}",
        f"{CLARK}, section 3.1", "Mean weight of a token on the one before it, over all tokens but the first.",
    ),
    Definition(
        "next", "On the next token", "share", _SOME + r"A_{i,i+1},\quad Q'=\{i\in Q: i<n-1\}",
        f"{CLARK}, section 3.1", "Mean weight of a token on the one after it, over all tokens but the last.",
    ),
    Definition(
        "cls", "On the opening token", "share", _MEAN + r"A_{i,\mathrm{[CLS]}}", f"{CLARK}, section 3.2",
        "Mean weight on the special token that opens the text: [CLS], or <s>.",
    ),
    Definition(
        "sep", "On separators", "share", _MEAN + r"\sum_{j\in\mathrm{[SEP]}} A_{ij}", f"{CLARK}, section 3.2",
        "Mean weight on all other special tokens together: [SEP], or </s>.",
    ),
    Definition(
        "punctuation", "On punctuation", "share", _MEAN + r"\sum_{j\in\mathrm{punctuation}} A_{ij}",
        f"{CLARK}, section 3.2 (there full stops and commas; here Unicode's categories P)",
        "Mean weight on all tokens that are punctuation marks.",
    ),
    Definition(
        "same_token", "On the same token elsewhere", "share",
        _SOME + r"\sum_{j\ne i,\ t_j=t_i} A_{ij},\quad Q'=\{i\in Q: \exists j\ne i,\ t_j=t_i\}", WANG,
        "Mean weight on other occurrences of the same token, over tokens of the text that occur again.",
    ),
    Definition(
        "own_word", "On its word's other pieces", "share",
        _SOME + r"\sum_{j\ne i,\ w_j=w_i} A_{ij},\quad Q'=\{i\in Q: \exists j\ne i,\ w_j=w_i\}", OWN,
        "Mean weight of a word piece on the other pieces of its word, over words of several pieces.",
    ),
    Definition(
        "maximum", "Mean maximum weight", "share", _MEAN + r"\max_j A_{ij}",
        f"{VOITA}, section 4 (there called confidence, and without the end of the sentence)",
        "The largest weight of a query, averaged over queries.",
    ),
    Definition(
        "strong", "Strong weights", "share",
        r"\frac{1}{|Q|\,n}\,\big|\{(i,j): i\in Q,\ A_{ij}>\theta\}\big|", OWN,
        "Share of all pairs of a query and a key whose weight is above the threshold.",
    ),
    Definition(
        "top_previous", "Largest on the previous token", "share",
        _TOP + r"\big|\{i\in Q': \arg\max_j A_{ij}=i-1\}\big|,\quad Q'=\{i\in Q: i>0\}", f"{VOITA}, section 5.1",
        "Share of queries whose largest weight is on the token before them.",
    ),
    Definition(
        "top_self", "Largest on itself", "share",
        r"\frac{1}{|Q|}\,\big|\{i\in Q: \arg\max_j A_{ij}=i\}\big|",
        f"like {VOITA}, section 5.1, who use the offsets -1 and +1 only",
        "Share of queries whose largest weight is on themselves.",
    ),
    Definition(
        "top_next", "Largest on the next token", "share",
        _TOP + r"\big|\{i\in Q': \arg\max_j A_{ij}=i+1\}\big|,\quad Q'=\{i\in Q: i<n-1\}", f"{VOITA}, section 5.1",
        "Share of queries whose largest weight is on the token after them.",
    ),
)  # fmt: skip

BY_NAME: dict[str, Definition] = {definition.name: definition for definition in HEAD_MEASURES}

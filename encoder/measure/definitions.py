"""What each measure of a head means: its formula, its source, one sentence. Data for pages to show beside the number.

In the formulas A is the attention map, i a query, j a key, n the number of real tokens, Q the queries that count; t_j
is the token at j, w_j its word. Padding is neither a query nor a key.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Definition:
    """A measure. formula: LaTeX; unit: "share" (0 to 1), "nats" or "tokens"; sentence: what it says, for a learner."""

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
_ENTROPY = r"\Big(-\sum_j A_{ij}\ln A_{ij}\Big)"

HEAD_MEASURES: tuple[Definition, ...] = (
    Definition(
        name="entropy",
        title="Entropy",
        unit="nats",
        formula=_MEAN + _ENTROPY,
        source=f"{CLARK}, section 3.3",
        sentence="How widely queries spread their attention: 0 when they look at one token, ln n when at all alike.",
    ),
    Definition(
        name="relative_entropy",
        title="Normalised entropy",
        unit="share",
        formula=rf"\frac{{1}}{{\ln n}}\,{_MEAN}{_ENTROPY}",
        source="entropy, divided by that of uniform attention",
        sentence="Entropy as a share of the largest possible one, so that texts of different length compare.",
    ),
    Definition(
        name="distance",
        title="Mean distance",
        unit="tokens",
        formula=_MEAN + r"\sum_j A_{ij}\,|i-j|",
        source=VIG,
        sentence="How many tokens away the attended tokens are, on average.",
    ),
    Definition(
        name="self",
        title="On itself",
        unit="share",
        formula=_MEAN + "A_{ii}",
        source=f"{CLARK}, section 3.1",
        sentence="Mean weight of a token on itself.",
    ),
    Definition(
        name="previous",
        title="On the previous token",
        unit="share",
        formula=_SOME + r"A_{i,i-1},\quad Q'=\{i\in Q: i>0\}",
        source=f"{CLARK}, section 3.1",
        sentence="Mean weight of a token on the one before it, over all tokens but the first.",
    ),
    Definition(
        name="next",
        title="On the next token",
        unit="share",
        formula=_SOME + r"A_{i,i+1},\quad Q'=\{i\in Q: i<n-1\}",
        source=f"{CLARK}, section 3.1",
        sentence="Mean weight of a token on the one after it, over all tokens but the last.",
    ),
    Definition(
        name="cls",
        title="On the opening token",
        unit="share",
        formula=_MEAN + r"A_{i,\mathrm{[CLS]}}",
        source=f"{CLARK}, section 3.2",
        sentence="Mean weight on the special token that opens the text: [CLS], or <s>.",
    ),
    Definition(
        name="sep",
        title="On separators",
        unit="share",
        formula=_MEAN + r"\sum_{j\in\mathrm{[SEP]}} A_{ij}",
        source=f"{CLARK}, section 3.2",
        sentence="Mean weight on all other special tokens together: [SEP], or </s>.",
    ),
    Definition(
        name="punctuation",
        title="On punctuation",
        unit="share",
        formula=_MEAN + r"\sum_{j\in\mathrm{punctuation}} A_{ij}",
        source=f"{CLARK}, section 3.2 (there full stops and commas; here Unicode's categories P)",
        sentence="Mean weight on all tokens that are punctuation marks.",
    ),
    Definition(
        name="same_token",
        title="On the same token elsewhere",
        unit="share",
        formula=_SOME + r"\sum_{j\ne i,\ t_j=t_i} A_{ij},\quad Q'=\{i\in Q: \exists j\ne i,\ t_j=t_i\}",
        source=WANG,
        sentence="Mean weight on other places where the same token stands, over tokens of the text that occur again.",
    ),
    Definition(
        name="own_word",
        title="On its word's other pieces",
        unit="share",
        formula=_SOME + r"\sum_{j\ne i,\ w_j=w_i} A_{ij},\quad Q'=\{i\in Q: \exists j\ne i,\ w_j=w_i\}",
        source=OWN,
        sentence="Mean weight of a word piece on the other pieces of its word, over words of several pieces.",
    ),
    Definition(
        name="maximum",
        title="Mean maximum weight",
        unit="share",
        formula=_MEAN + r"\max_j A_{ij}",
        source=f"{VOITA}, section 4 (there called confidence, and without the end of the sentence)",
        sentence="The largest weight of a query, averaged over queries: how much it settles on one token.",
    ),
    Definition(
        name="strong",
        title="Strong weights",
        unit="share",
        formula=r"\frac{1}{|Q|\,n}\,\big|\{(i,j): i\in Q,\ A_{ij}>\theta\}\big|",
        source=OWN,
        sentence="Share of all pairs of a query and a key whose weight is above the threshold.",
    ),
    Definition(
        name="top_previous",
        title="Largest on the previous token",
        unit="share",
        formula=r"\frac{1}{|Q'|}\,\big|\{i\in Q': \arg\max_j A_{ij}=i-1\}\big|,\quad Q'=\{i\in Q: i>0\}",
        source=f"{VOITA}, section 5.1",
        sentence="Share of queries whose largest weight is on the token before them.",
    ),
    Definition(
        name="top_self",
        title="Largest on itself",
        unit="share",
        formula=r"\frac{1}{|Q|}\,\big|\{i\in Q: \arg\max_j A_{ij}=i\}\big|",
        source=f"{VOITA}, section 5.1",
        sentence="Share of queries whose largest weight is on themselves.",
    ),
    Definition(
        name="top_next",
        title="Largest on the next token",
        unit="share",
        formula=r"\frac{1}{|Q'|}\,\big|\{i\in Q': \arg\max_j A_{ij}=i+1\}\big|,\quad Q'=\{i\in Q: i<n-1\}",
        source=f"{VOITA}, section 5.1",
        sentence="Share of queries whose largest weight is on the token after them.",
    ),
)

BY_NAME: dict[str, Definition] = {definition.name: definition for definition in HEAD_MEASURES}

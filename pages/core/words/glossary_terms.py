"""The glossary's terms: the page Glossary, docs/glossary.md and the links in the pages' opening lines show these.

A definition is two plain sentences without formulas or markup: it is also the tooltip of a link.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One term.

    definition: two sentences; more: a formula (in dollars) or a number, if one helps; page: the folder of the page
    where you see it; words: other spellings that pages use; source: the paper that the term is from.
    """

    name: str
    definition: str
    page: str
    more: str = ""
    words: tuple[str, ...] = ()
    source: str = ""

    @property
    def key(self) -> str:
        """Its name in the address."""
        return self.name.lower().replace(" ", "-").replace("_", "-")


#: Group -> its terms, in an order in which they can be read.
GROUPS: dict[str, tuple[Term, ...]] = {
    "From text to vectors": (
        Term(
            "token",
            "A token is what the model processes as one unit: a piece of text, an image patch, a time step. "
            "The tokenizer splits a text into tokens of its vocabulary.",
            "model", "all-MiniLM-L6-v2 has 30,522 tokens. It splits “tokenised” into “token” and “##ised”.",
            words=("tokens",),
        ),
        Term(
            "special tokens",
            "The tokenizer adds special tokens, which are not words of the text. In BERT, [CLS] opens the text "
            "and [SEP] ends each segment.",
            "heads", "Other models write `<s>` and `</s>`.", words=("special token",), source="Devlin et al. 2019",
        ),
        Term(
            "padding",
            "Padding fills the shorter texts of a batch up to one length. A mask prevents real tokens from "
            "attending to it.",
            "heads",
        ),
        Term(
            "mask",
            "A mask says which keys a query may not attend to: softmax gives them weight 0. Encoders mask "
            "padding; decoders mask later tokens too.",
            "model", "The token [MASK] is something else: it hides a word in masked-word prediction.",
        ),
        Term(
            "embedding",
            "An embedding is a vector that the model looks up in a learned table. BERT adds a token, a position "
            "and a segment embedding, and LayerNorm follows.",
            "model", words=("embeddings",), source="Devlin et al. 2019",
        ),
        Term(
            "position",
            "A position is the place of a token in the input, counted from 0. Attention ignores order, so a model adds "
            "position vectors, rotates queries and keys, or adds a bias to scores.",
            "positions", words=("positions",),
        ),
        Term(
            "d_model",
            "d_model is the number of components of each token's vector between the layers. It is the width of "
            "the residual stream.",
            "model", "384 in all-MiniLM-L6-v2, 128 in the twins.",
        ),
    ),
    "Attention": (
        Term(
            "head",
            "A head computes attention with its own weights for queries, keys and values. The heads of a layer "
            "work side by side, and W_O combines their outputs.",
            "heads", "all-MiniLM-L6-v2 has 6 layers of 12 heads. L2 H5 is head 5 of layer 2; both count from 0.",
            words=("heads",), source="Vaswani et al. 2017",
        ),
        Term(
            "query",
            "The query of a token is compared with the keys of all tokens. It is the token's vector times the "
            "head's weights W_Q, plus a bias in many models.",
            "heads", "$q_i = x_i W_Q + b_Q$", words=("queries",), source="Vaswani et al. 2017",
        ),
        Term(
            "key",
            "The key of a token is what queries are compared with. It is the token's vector times the head's "
            "weights W_K, plus a bias in many models.",
            "heads", "$k_j = x_j W_K + b_K$", words=("keys",), source="Vaswani et al. 2017",
        ),
        Term(
            "value",
            "The value of a token is the vector that other tokens receive from it, times an attention weight. A "
            "head's output for a token is the sum of all values with these weights.",
            "heads", r"$z_i = \sum_j A_{ij}\,v_j$", words=("values",), source="Vaswani et al. 2017",
        ),
        Term(
            "score",
            "A score is the scaled dot product of a query and a key. It can be any number; softmax turns the "
            "scores of a query into weights.",
            "model",
            r"$s_{ij} = q_i \cdot k_j / \sqrt{d_k}$, where $d_k$ is the head's width; some models add a bias.",
            words=("scores",), source="Vaswani et al. 2017",
        ),
        Term(
            "softmax",
            "Softmax turns numbers into positive weights that sum to 1. Only differences count: the same number "
            "added to all scores changes no weight.",
            "model", r"$A_{ij} = e^{s_{ij}} / \sum_m e^{s_{im}}$",
        ),
        Term(
            "attention weight",
            "An attention weight is the share of a query's attention that one key gets, from 0 to 1. It says how "
            "much of a value enters the sum; it does not say how important the token is.",
            "heads", "Why not: [norm-weighted attention](#norm-weighted-attention).", words=("attention weights",),
        ),
        Term(
            "attention map",
            "An attention map shows all weights of a head: one row for each query, one column for each key. Each "
            "row sums to 1.",
            "heads", words=("attention maps",),
        ),
    ),
    "Inside a layer": (
        Term(
            "residual stream",
            "The residual stream is the vector of each token from layer to layer. Each sublayer reads it and adds "
            "its own result to it.",
            "pre_post", "$x ← x + f(x)$, with LayerNorm inside or after the sum.", source="Elhage et al. 2021",
        ),
        Term(
            "sublayer",
            "A sublayer is one of the two parts of a layer: attention, or the feed-forward layer. A residual "
            "connection goes around each of them.",
            "model", words=("sublayers",), source="Vaswani et al. 2017",
        ),
        Term(
            "feed-forward layer",
            "The feed-forward layer (FFN) changes each token's vector by itself: up to more components, an "
            "activation function, and down again. It moves nothing from token to token.",
            "model", "384 to 1,536 to 384 components in all-MiniLM-L6-v2.", words=("FFN",),
            source="Vaswani et al. 2017",
        ),
        Term(
            "LayerNorm",
            "LayerNorm gives the vector of each token mean 0 and standard deviation 1. Then it multiplies each "
            "component by a learned gain and, in most models, adds a learned bias.",
            "norms", r"$\gamma \odot (x - \mu) / \sqrt{\sigma^2 + \varepsilon} + \beta$", words=("LayerNorms",),
            source="Ba et al. 2016",
        ),
        Term(
            "pre-norm",
            "In pre-norm, LayerNorm precedes each sublayer, and the residual stream itself is only added to. Most "
            "pre-norm models have one more LayerNorm after the last layer.",
            "pre_post", r"$x ← x + f(\mathrm{LayerNorm}(x))$", source="Xiong et al. 2020",
        ),
        Term(
            "post-norm",
            "In post-norm, LayerNorm follows each sum of residual stream and sublayer. The first Transformer and "
            "BERT are post-norm.",
            "pre_post", r"$x ← \mathrm{LayerNorm}(x + f(x))$", source="Xiong et al. 2020",
        ),
        Term(
            "twins",
            "The twins, twin-pre and twin-post, are two small encoders trained alike; they differ only in the "
            "placement of LayerNorm. Each is one run of one seed, so a difference between them may be chance.",
            "pre_post", "4 layers of 4 heads; only twin-pre has a LayerNorm after its last layer.", words=("twin",),
        ),
    ),
    "How to read a head": (
        Term(
            "head type",
            "A head type is a pattern that a measure finds in one text, such as attention to the previous token. "
            "Another text can show another type.",
            "head_types", words=("head types",), source="Clark et al. 2019; Voita et al. 2019",
        ),
        Term(
            "sink",
            "An attention sink is a token that gets much of the attention although its content seems to matter "
            "little. Xiao et al. (2023) introduced the term for the first tokens of decoders.",
            "heads", "Here: special or first tokens with more than 0.6 of a head's attention.",
            words=("sinks", "attention sink", "attention sinks"), source="Xiao et al. 2023",
        ),
        Term(
            "entropy",
            "Entropy says how widely a query spreads its attention: 0 for one key only, ln n for n equal weights. "
            "Normalised entropy is entropy divided by ln n, so texts of different lengths compare.",
            "head_types", r"$-\sum_j A_{ij} \ln A_{ij}$, in nats", words=("normalised entropy",),
        ),
        Term(
            "norm-weighted attention",
            "Norm-weighted attention multiplies each weight by the norm of the value vector after W_O. A large "
            "weight on a vector with a small norm adds little to the output.",
            "contribution", r"$A_{ij}\,\lVert f(x_j) \rVert$ with $f(x) = (x W_V + b_V)\,W_O$",
            source="Kobayashi et al. 2020",
        ),
        Term(
            "attention rollout",
            "Attention rollout multiplies the mean attention of all layers, with half the weight for the residual "
            "connection. It estimates what each input token contributes, but ignores values, LayerNorm and the "
            "FFN.",
            "contribution", words=("rollout",), source="Abnar and Zuidema 2020",
        ),
    ),
    "Training and output": (
        Term(
            "logit",
            "A logit is a number for one possible answer, such as a word of the vocabulary, before softmax. "
            "Softmax over all logits gives probabilities.",
            "predict", words=("logits",),
        ),
        Term(
            "MLM",
            "Masked language modelling (MLM) trains an encoder on masked-word prediction: predict hidden tokens "
            "from the tokens on both sides. BERT selects 15% of the tokens and replaces most of them by [MASK].",
            "predict", "Of the selected tokens, 80% become [MASK], 10% a random token, and 10% stay.",
            words=("masked language modelling", "masked-word prediction"), source="Devlin et al. 2019",
        ),
        Term(
            "pooling",
            "Pooling turns the vectors of all tokens into one vector for the text. Many sentence encoders take "
            "the mean over all tokens but padding.",
            "model", "So does all-MiniLM-L6-v2.",
        ),
        Term(
            "untrained",
            "An untrained encoder has random weights. Its maps show the effect of architecture and initialisation "
            "only, so they serve as a baseline.",
            "training",
        ),
        Term(
            "gradient",
            "A gradient says how the loss changes if a weight changes a little. Training uses it to change each "
            "weight so that the loss falls.",
            "training", words=("gradients",),
        ),
        Term(
            "warm-up",
            "Warm-up raises the learning rate step by step at the beginning of training. Xiong et al. (2020) "
            "explain its use in post-norm by large gradients near the output at initialisation.",
            "training",
        ),
        Term(
            "classification head",
            "A classification head turns vectors of the encoder into a score for each class. It classifies a whole "
            "text or tags each token.",
            "probes", words=("classification heads",),
        ),
        Term(
            "probe",
            "A probe is a small classifier, trained on vectors of a model that stays as it is. Its accuracy shows "
            "whether a label can be read off the vectors, not whether the model uses it.",
            "probes", words=("probes",), source="Belinkov 2022",
        ),
        Term(
            "control task",
            "A control task gives each word a random label, so a probe can only learn it by heart. Accuracy minus "
            "control accuracy is the selectivity of a probe.",
            "probes", words=("selectivity",), source="Hewitt and Liang 2019",
        ),
        Term(
            "cross-encoder",
            "A cross-encoder processes two texts together and gives the pair one score. A bi-encoder makes one vector "
            "of each text, so its vectors serve every later query.",
            "search", words=("cross-encoders",), source="Reimers and Gurevych 2019",
        ),
    ),
}  # fmt: skip
TERMS = tuple(term for terms in GROUPS.values() for term in terms)
BY_KEY = {term.key: term for term in TERMS}

"""The bibliography: every work that a page, a lesson or the glossary names by author and year, and the links to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st

from pages.state import links

ARXIV = "https://arxiv.org/abs/"


@dataclass(frozen=True)
class Reference:
    """One work. authors, year: as pages name it; showed: what it showed, and on which models."""

    authors: str
    year: int
    title: str
    venue: str
    address: str
    showed: str

    @property
    def key(self) -> str:
        """Its name in the address."""
        return f"{self.authors.split()[0].strip(',').lower()}-{self.year}"

    @property
    def name(self) -> str:
        """As pages name it."""
        return f"{self.authors} {self.year}"

    def entry(self) -> str:
        """The work in Markdown."""
        return f"**{self.name}**. *{self.title}*. [{self.venue}]({self.address})  \n{self.showed}"


def _of(authors: str, year: int, title: str, venue: str, address: str, showed: str) -> Reference:
    return Reference(authors, year, title, venue, address if "/" in address else ARXIV + address, showed)


REFERENCES = (
    _of("Abnar and Zuidema", 2020, "Quantifying Attention Flow in Transformers", "ACL 2020", "2005.00928",
        "Attention rollout and attention flow, tried on a small transformer and on BERT models."),
    _of("Ba et al.", 2016, "Layer Normalization", "arXiv 2016", "1607.06450",
        "LayerNorm shortens training; its experiments are mostly on recurrent networks, before the Transformer."),
    _of("Baevski et al.", 2020, "wav2vec 2.0: A Framework for Self-Supervised Learning of Speech Representations",
        "NeurIPS 2020", "2006.11477", "An encoder learns speech from masked audio; a convolution gives its positions."),
    _of("Belinkov", 2022, "Probing Classifiers: Promises, Shortcomings, and Advances",
        "Computational Linguistics 48(1)", "2102.12452",
        "A survey: a probe shows what a classifier can read, not what the model uses."),
    _of("Clark et al.", 2019, "What Does BERT Look At? An Analysis of BERT's Attention", "BlackboxNLP 2019",
        "1906.04341", "Heads of BERT-base attend to neighbours, [SEP] or words with a syntactic relation."),
    _of("Darcet et al.", 2024, "Vision Transformers Need Registers", "ICLR 2024", "2309.16588",
        "Large image encoders have a few patches with very large norms; extra tokens remove them."),
    _of("Devlin et al.", 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        "NAACL 2019", "1810.04805", "A post-norm encoder, pre-trained on masked words and pairs of sentences."),
    _of("Dosovitskiy et al.", 2021, "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
        "ICLR 2021", "2010.11929", "The Vision Transformer: patches of an image as the tokens of an encoder."),
    _of("Elhage et al.", 2021, "A Mathematical Framework for Transformer Circuits", "Transformer Circuits Thread",
        "https://transformer-circuits.pub/2021/framework/index.html",
        "The residual stream as a sum that all layers use, for decoders of up to two layers with attention only."),
    _of("Formal et al.", 2021, "SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking", "SIGIR 2021",
        "2107.05720", "A masked-word head weights the words of the vocabulary, tried on the passages of MS MARCO."),
    _of("Geva et al.", 2021, "Transformer Feed-Forward Layers Are Key-Value Memories", "EMNLP 2021", "2012.14913",
        "Neurons of feed-forward layers respond to patterns of text, in a decoder of 16 layers."),
    _of("Geva et al.", 2023, "Dissecting Recall of Factual Associations in Auto-Regressive Language Models",
        "EMNLP 2023", "2304.14767", "Attention knockout shows where facts travel, in the decoders GPT-2 XL and GPT-J."),
    _of("Hake", 1998, "Interactive-engagement versus traditional methods: A six-thousand-student survey of "
        "mechanics test data for introductory physics courses", "American Journal of Physics 66", "https://doi.org/10.1119/1.18809",
        "Normalised gains of 62 introductory physics courses; a survey, not an experiment."),
    _of("Heimersheim and Nanda", 2024, "How to use and interpret activation patching", "arXiv 2024", "2404.15255",
        "Advice on activation patching, and on what its results do and do not show."),
    _of("Hewitt and Liang", 2019, "Designing and Interpreting Probes with Control Tasks", "EMNLP 2019", "1909.03368",
        "Control tasks show how much a probe learns by heart; studied on ELMo, a recurrent model."),
    _of("Jain and Wallace", 2019, "Attention is not Explanation", "NAACL 2019", "1902.10186",
        "Very different attention weights can give the same prediction, in mostly recurrent classifiers."),
    _of("Khattab and Zaharia", 2020, "ColBERT: Efficient and Effective Passage Search via Contextualized Late "
        "Interaction over BERT", "SIGIR 2020", "2004.12832",
        "Each token of a query takes its most similar token of a passage, with BERT, tried on MS MARCO."),
    _of("Kobayashi et al.", 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms",
        "EMNLP 2020", "2004.10102",
        "Norms of transformed values matter as much as weights, in BERT-base and a translation model."),
    _of("Kobayashi et al.", 2021,
        "Incorporating Residual and Normalization Layers into Analysis of Masked Language Models", "EMNLP 2021",
        "2109.07152", "With residual connection and LayerNorm, tokens mostly keep their vector; BERT and RoBERTa."),
    _of("Kovaleva et al.", 2021, "BERT Busters: Outlier Dimensions that Disrupt Transformers",
        "Findings of ACL 2021", "2105.06990", "A few outlier dimensions of LayerNorm matter much to BERT-like models."),
    _of("Liu et al.", 2020, "Understanding the Difficulty of Training Transformers", "EMNLP 2020", "2004.08249",
        "Unbalanced gradients are not the root cause of unstable post-norm training; studied on translation."),
    _of("Moeller et al.", 2023, "An Attribution Method for Siamese Encoders", "EMNLP 2023", "2310.05703",
        "Integrated Jacobians split the cosine of two texts among pairs of tokens, in sentence encoders."),
    _of("Petsiuk et al.", 2018, "RISE: Randomized Input Sampling for Explanation of Black-box Models", "BMVC 2018",
        "1806.07421", "The deletion metric for maps of importance, on convolutional networks for images."),
    _of("Radford et al.", 2022, "Robust Speech Recognition via Large-Scale Weak Supervision", "arXiv 2022",
        "2212.04356", "Whisper, an encoder and decoder of speech; the encoder has fixed sinusoidal positions."),
    _of("Reimers and Gurevych", 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks",
        "EMNLP 2019", "1908.10084", "BERT-like encoders trained on pairs, so that cosines compare sentences."),
    _of("Serrano and Smith", 2019, "Is Attention Interpretable?", "ACL 2019", "1906.03731",
        "Attention weights are noisy indicators of importance, in mostly recurrent classifiers of text."),
    _of("Su et al.", 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", "arXiv 2021",
        "2104.09864", "Rotary positions, in translation, in pre-training as of BERT, and on long texts."),
    _of("Sun et al.", 2024, "Massive Activations in Large Language Models", "COLM 2024", "2402.17762",
        "Very few activations are far larger than all others, in decoders and in Vision Transformers."),
    _of("Sundararajan, Taly and Yan", 2017, "Axiomatic Attribution for Deep Networks", "ICML 2017", "1703.01365",
        "Integrated gradients, and the axioms that they satisfy; networks for images, text and chemistry."),
    _of("Timkey and van Schijndel", 2021,
        "All Bark and No Bite: Rogue Dimensions in Transformer Language Models Obscure Representational Quality",
        "EMNLP 2021", "2109.04404", "Often one to three dimensions dominate cosines; GPT-2, BERT, RoBERTa and XLNet."),
    _of("Vaswani et al.", 2017, "Attention Is All You Need", "NeurIPS 2017", "1706.03762",
        "The Transformer, a post-norm encoder and decoder for translation."),
    _of("Vig and Belinkov", 2019, "Analyzing the Structure of Attention in a Transformer Language Model",
        "BlackboxNLP 2019", "1906.04284", "Attention follows syntax most in middle layers of GPT-2 small, a decoder."),
    _of("Voita et al.", 2019,
        "Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned",
        "ACL 2019", "1905.09418", "Few heads do most of the work, in the encoder of a translation model."),
    _of("Wang et al.", 2023,
        "Interpretability in the Wild: a Circuit for Indirect Object Identification in GPT-2 small",
        "ICLR 2023", "2211.00593", "A circuit of heads with known roles in GPT-2 small, a decoder."),
    _of("Warner et al.", 2024,
        "Smarter, Better, Faster, Longer: A Modern Bidirectional Encoder for Fast, Memory Efficient, and Long Context "
        "Finetuning and Inference", "arXiv 2024", "2412.13663", "ModernBERT, a pre-norm encoder with local attention."),
    _of("Wiegreffe and Pinter", 2019, "Attention is not not Explanation", "EMNLP 2019", "1908.04626",
        "An answer to Jain and Wallace, with tests of when attention can explain; on recurrent classifiers."),
    _of("Xiao et al.", 2023, "Efficient Streaming Language Models with Attention Sinks", "ICLR 2024", "2309.17453",
        "The first tokens of decoders receive much attention whatever they are: attention sinks."),
    _of("Xiong et al.", 2020, "On Layer Normalization in the Transformer Architecture", "ICML 2020", "2002.04745",
        "Gradients of both placements at initialisation; pre-norm trained without warm-up, in translation and BERT."),
    _of("Yeh et al.", 2023, "AttentionViz: A Global View of Transformer Attention", "IEEE VIS 2023", "2305.03210",
        "Queries and keys in one plane, for encoders of text and of images and for GPT-2."),
    _of("Zeiler and Fergus", 2014, "Visualizing and Understanding Convolutional Networks", "ECCV 2014", "1311.2901",
        "Occlusion with a grey square shows which part of an image a convolutional network uses."),
    _of("Zhang and Sennrich", 2019, "Root Mean Square Layer Normalization", "NeurIPS 2019", "1910.07467",
        "RMSNorm leaves out the mean at little cost, in recurrent models and Transformers."),
    _of("Zhang et al.", 2020, "BERTScore: Evaluating Text Generation with BERT", "ICLR 2020", "1904.09675",
        "Cosines of token vectors compare two texts, with BERT-like encoders."),
)  # fmt: skip
BY_KEY = {reference.key: reference for reference in REFERENCES}
#: "Clark et al. 2019" and "Clark et al. (2019)", not inside a link.
CITED = re.compile(
    "(?<![\\[\\w])("
    + "|".join(re.escape(name) for name in sorted({one.authors for one in REFERENCES}, key=len, reverse=True))
    + r"),?(?: (\d{4})| \((\d{4})(?:\)|(?=[,;])))(?![\w\]])"
)


def cited(text: str) -> str:
    """Markdown in which each "Author year" links to its entry; the title of the work is the link's tooltip."""
    if not links.exists("glossary"):
        return text

    def link(found: re.Match[str]) -> str:
        year = int(found[2] or found[3])
        reference = next((one for one in REFERENCES if (one.authors, one.year) == (found[1], year)), None)
        return found[0] if reference is None else f'[{found[0]}](glossary?cited={reference.key} "{reference.title}")'

    return CITED.sub(link, text)


def markdown(text: str) -> None:
    """`st.markdown` with these links."""
    st.markdown(cited(text))


def caption(text: str) -> None:
    """`st.caption` with these links."""
    st.caption(cited(text))

"""Late interaction: the score of a query and a document is a sum over the query's tokens (ColBERT).

With unit vectors q_i of the query's tokens and d_j of the document's, score = sum over i of max over j of q_i . d_j
("MaxSim"; Khattab and Zaharia 2020). So the score is an exact sum over pairs of tokens: those in `best`.

Shapes: T_q, T_d tokens that count, E width of a token's vector.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.text import Tokenized
from encoder.model.device import explain_out_of_memory
from encoder.model.pooling import LateConfig, TokenMerge

Role = Literal["query", "document"]


@dataclass(frozen=True, eq=False)
class LateInteraction:
    """How tokens of a query and of a document make their score.

    matrix [T_q, T_d]: q_i . d_j; queries [T_q], keys [T_d]: the tokens as a person reads them; trained: whether the
    checkpoint was trained for it.
    """

    matrix: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    trained: bool

    @property
    def best(self) -> np.ndarray:
        """[T_q]: for each token of the query the document's token that counts."""
        return self.matrix.argmax(axis=1)

    @property
    def parts(self) -> np.ndarray:
        """[T_q]: what each token of the query adds to the score."""
        return self.matrix.max(axis=1)

    @property
    def score(self) -> float:
        """The sum of `parts`."""
        return float(self.parts.sum())


def late_interaction(model: TextEncoder, query: str, document: str) -> LateInteraction:
    """MaxSim of two texts. A model without ColBERT's settings gives the cosines of its output vectors.

    Raises TextError, and EncoderError for a document of which no token counts.
    """
    asked, q = token_vectors(model, query, "query")
    read, d = token_vectors(model, document, "document")
    if not len(d) or not len(q):
        raise EncoderError("No token of one of the texts counts in this model: type more words.")
    matrix = (q @ d.T).cpu().numpy()
    return LateInteraction(matrix, asked, read, trained=model.late is not None)


def token_vectors(model: TextEncoder, text: str, role: Role) -> tuple[tuple[str, ...], Tensor]:
    """The tokens of a text that count, and their vectors [T, E] in float32."""
    model = model.side(role)
    how = model.late or LateConfig()
    sentence, n_own = _sentence(model, text, role)
    batch = model.tokenizer.batch([sentence], model.device)
    mask = torch.arange(len(sentence), device=model.device) < (len(sentence) if how.attends else n_own)
    with explain_out_of_memory(model.device, len(sentence)), torch.no_grad():
        seen = None if bool(mask.all()) else mask[None]
        x = model.encoder(batch.ids, seen, batch.segments, places=batch.places)[0]
        for dense in model.token_dense:
            x = dense(x)
    x = x.float()
    if how.normalise:
        x = torch.nn.functional.normalize(x, dim=-1)
    counts = _counting(model, how, sentence, role)
    labels, x = tuple(sentence.labels[place] for place in counts), x[counts]
    return merged(labels, x, how.merge) if how.merge is not None and _merges(how.merge, role) else (labels, x)


@dataclass(frozen=True, eq=False)
class LateSide:
    """A text as late interaction reads it. counts: the places of the tokens that count; n_own: its tokens, to which
    others attend, before the filler; attends: whether tokens attend to the filler, too."""

    sentence: Tokenized
    counts: tuple[int, ...]
    n_own: int
    attends: bool
    prompt: str


def late_side(model: TextEncoder, text: str, role: Role) -> LateSide:
    """A query or a document, tokenized and filled as the checkpoint says. Raises EncoderError as `token_vectors`."""
    how = model.late or LateConfig()
    sentence, n_own = _sentence(model, text, role)
    prompt = model.prompts.get(role, "") if model.late is not None else ""
    return LateSide(sentence, tuple(_counting(model, how, sentence, role)), n_own, how.attends, prompt)


def _sentence(model: TextEncoder, text: str, role: Role) -> tuple[Tokenized, int]:
    """A text with its prompt and filler, and its number of tokens without the filler."""
    how = model.late or LateConfig()
    before = model.prompts.get(role, "") if model.late is not None else ""
    limit = (how.query_length if role == "query" else how.document_length) or model.max_embed_tokens
    fill = how.n_query if role == "query" else 0
    if fill and how.exact:
        limit = fill
    after = how.suffix if role == "query" else ""
    sentence = model.tokenize(before + text + after, max_tokens=limit)
    n_own = len(sentence)
    return (_filled(model, how, sentence, fill) if fill > n_own else sentence), n_own


def _filled(model: TextEncoder, how: LateConfig, sentence: Tokenized, n_tokens: int) -> Tokenized:
    """A query with the filler token behind it, by default [MASK]. Raises EncoderError where there is none."""
    token = how.filler or model.tokenizer.mask_token
    number = None if token is None else model.tokenizer.backend.token_to_id(token)
    if token is None or number is None:
        raise EncoderError(f"The vocabulary of {model.name} has no {token or 'mask token'} to fill queries with.")
    if number >= model.config.vocab_size:  # a token that a setting of the tokenizer has added
        raise EncoderError(
            f"{model.name} fills queries with {quoted(token)} of the id {number}, but its encoder has vectors for 0 to "
            f"{model.config.vocab_size - 1} only: use the checkpoint's own tokenizer."
        )
    return replace(sentence.filled(token, number, n_tokens), n_full=sentence.n_full)


def _counting(model: TextEncoder, how: LateConfig, sentence: Tokenized, role: Role) -> list[int]:
    """The places of the tokens that count: all but the skipped ones."""
    backend, unknown = model.tokenizer.backend, model.tokenizer.unk_token
    ids = {backend.token_to_id(word) for word in how.skipped if word != unknown}
    skips = how.skips_queries if role == "query" else how.skips_documents
    skipped = ids - {None} if skips else set()
    kept = set(how.kept_ids) if role == "document" and how.kept_ids else set(sentence.ids)
    return [place for place, number in enumerate(sentence.ids) if number in kept - skipped]


def _merges(merge: TokenMerge, role: Role) -> bool:
    return merge.queries if role == "query" else merge.documents


def merged(labels: tuple[str, ...], x: Tensor, merge: TokenMerge) -> tuple[tuple[str, ...], Tensor]:
    """Vectors [T, E] of norm 1 -> fewer: those of each cluster are replaced by their mean, in the order of its number.

    Clusters are those of Ward's linkage of 1 - cosine (Clavie, Chaffin and Adams 2024). A mean has the labels of all
    its tokens, joined by " + ".
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    rest = x[merge.protected :]
    n_clusters = max(int(len(rest) // merge.factor), 1)
    if n_clusters < len(rest):
        distances = (1 - rest @ rest.T).clamp(0, 2).cpu().numpy()
        tree = linkage(squareform(distances, checks=False), method="ward")
        numbers = torch.from_numpy(fcluster(tree, t=n_clusters, criterion="maxclust")).to(x.device)
        groups = [torch.nonzero(numbers == number)[:, 0] + merge.protected for number in sorted(set(numbers.tolist()))]
        names = (" + ".join(labels[place] for place in group.tolist()) for group in groups)
        labels = (*labels[: merge.protected], *names)
        x = torch.cat([x[: merge.protected], torch.stack([x[group].mean(dim=0) for group in groups])])
    return labels, torch.nn.functional.normalize(x, dim=-1) if merge.normalise else x

"""The words that a masked-word head predicts, and the rank of one among them."""

from encoder import MaskedPrediction
from encoder.run import Run
from pages.core.stores import cache, model_store

#: With at most this many masks, the head ranks the whole vocabulary; with more, the most probable words only.
MOST_FULLY_RANKED = 4
#: Signs of a word's beginning in vocabularies of byte-level BPE and SentencePiece.
WORD_STARTS = ("Ġ", "▁")
#: Sign of a word that goes on, in WordPiece.
CONTINUES = "##"


def predictions(run: Run, top: int) -> tuple[MaskedPrediction, ...]:
    """The prediction at every mask: the whole vocabulary, or `top` words where there are many masks. Cached.

    Raises EncoderError where the model has no masked-word head, or the text no mask.
    """
    model = model_store.model(run.model)
    n_masks = cache.trace(run).tokens.count(model.tokenizer.mask_token or "")
    k = model.config.vocab_size if n_masks <= MOST_FULLY_RANKED else top
    return cache.derived(run, ("masked words", k), lambda trace: tuple(model.predict_masked(trace, k)))


def rank(prediction: MaskedPrediction, word: str) -> tuple[int, float] | None:
    """(rank from 1, probability) of a word as typed or in lower case; None if it is not a single vocabulary entry."""
    for spelling in spellings(word):
        if spelling in prediction.tokens:
            index = prediction.tokens.index(spelling)
            return index + 1, prediction.probabilities[index]
    return None


def spellings(word: str) -> list[str]:
    """How a vocabulary may write a word: as typed or in lower case, with or without the sign of a beginning."""
    found = [start + spelling for spelling in (word, word.lower()) for start in ("", *WORD_STARTS)]
    return list(dict.fromkeys(found))


def readable(token: str) -> str:
    """A vocabulary entry without the sign of a word's beginning; “##” of a continued word stays."""
    for start in WORD_STARTS:
        token = token.replace(start, "") or token
    return token

"""Text to ids: words, pieces, ids and special tokens.

Shapes: T tokens, V vocabulary.
"""

from dataclasses import dataclass, replace

from encoder.errors import EncoderError
from encoder.explain.latex import Formula, stack, text
from encoder.explain.reference import Check, compare
from encoder.inputs.tokenizer import Tokenizer
from encoder.trace.tokens import sentences
from encoder.trace.trace import Trace


@dataclass(frozen=True)
class Token:
    """One row of the table text -> ids."""

    position: int
    #: Its part of the text.
    characters: str
    #: As in the vocabulary.
    token: str
    #: As a person reads it.
    label: str
    id: int
    #: Its word's index in the text; -1 for a special token.
    word: int
    segment: int
    special: bool
    #: Whether it is not padding.
    real: bool


@dataclass(frozen=True)
class Attempt:
    """One attempt of WordPiece. id: row of `piece` in the vocabulary, or None."""

    piece: str
    id: int | None


@dataclass(frozen=True, eq=False)
class TextToIds:
    """The text as rows. vocab_size: V; n_full: tokens before the text was cut; query: the selected token."""

    tokens: tuple[Token, ...]
    vocab_size: int
    n_full: int
    query: int
    formula: Formula

    @property
    def ids(self) -> tuple[int, ...]:
        """[T]"""
        return tuple(token.id for token in self.tokens)

    def check(self, tokenizer: Tokenizer) -> tuple[Check, ...]:
        """Look every token up in the vocabulary again; -1 for an unknown one."""
        found = [tokenizer.backend.token_to_id(token.token) for token in self.tokens]
        ids = [-1 if token_id is None else token_id for token_id in found]
        return (replace(compare("ids", self.ids, ids, (self.query,)), tolerance=0.0),)  # the next id is another word


def text_to_ids(trace: Trace, query: int = 0) -> TextToIds:
    """Every token of the trace: its characters, its vocabulary entry, its id.

    Raises EncoderError for a trace without its text (an image).
    """
    source = trace.source
    if source is None:
        raise EncoderError("This trace has no text: choose a trace of a text.")
    tokens = []
    sides = sentences(trace)
    for position, label in enumerate(trace.labels):
        real = position < len(source)
        in_pair = sides[position] == 1
        start, end = source.offsets[position] if real else (0, 0)
        tokens.append(
            Token(
                position=position,
                characters=((source.pair if in_pair else source.text) or "")[start:end],
                token=trace.tokens[position],
                label=label,
                id=trace.ids[position],
                word=source.words[position] if real else -1,
                segment=source.segments[position] if real else 0,
                special=source.special[position] if real else True,
                real=real,
            )
        )
    chosen, vocabulary = tokens[query], f"{trace.config.vocab_size:,}".replace(",", "{,}")
    formula = Formula(
        symbols=stack(r"t_i = \mathrm{id}(\text{piece } i) \in \{0, \dots, V - 1\}", rf"V = {vocabulary}"),
        numbers=rf"t_{{{query}}} = \mathrm{{id}}({text(chosen.label)}) = {chosen.id}",
    )
    return TextToIds(tuple(tokens), trace.config.vocab_size, source.n_full, query, formula)


def word_pieces(tokenizer: Tokenizer, word: str) -> tuple[Attempt, ...]:
    """How WordPiece splits one word: the longest prefix in the vocabulary, then the same with the rest.

    Lists every attempt, failures included. Empty for other tokenizers (BPE, Unigram). The tokenizer's normaliser (lower
    case, accents) is applied first. Wu et al. 2016; this greedy form is BERT's (Devlin et al. 2019).
    """
    import tokenizers

    model = tokenizer.backend.model
    if not isinstance(model, tokenizers.models.WordPiece):
        return ()
    normaliser = tokenizer.backend.normalizer
    rest = normaliser.normalize_str(word) if normaliser is not None else word
    prefix, attempts = model.continuing_subword_prefix, []
    unknown = Attempt(model.unk_token, tokenizer.backend.token_to_id(model.unk_token))
    if len(rest) > model.max_input_chars_per_word:
        return (unknown,)
    start = 0
    while start < len(rest):
        for end in range(len(rest), start, -1):
            piece = (prefix if start else "") + rest[start:end]
            found = tokenizer.backend.token_to_id(piece)
            attempts.append(Attempt(piece, found))
            if found is not None:
                break
        else:  # no prefix is known: the whole word is unknown
            return (*attempts, unknown)
        start = end
    return tuple(attempts)

"""Whether an encoder has vectors for the tokens of a text: a tokenizer may come from another checkpoint."""

from __future__ import annotations

from encoder.config import EncoderConfig
from encoder.errors import TextError
from encoder.text import Tokenized


def known(sentence: Tokenized, config: EncoderConfig, name: str) -> Tokenized:
    """The sentence itself. Raises TextError for no token at all, and for one that the encoder has no vector for."""
    if not sentence.ids:
        raise TextError(f"The text is empty, and the tokenizer of {name} adds no special tokens: type something.")
    for token, token_id in zip(sentence.tokens, sentence.ids, strict=True):
        if token_id >= config.vocab_size:
            raise TextError(
                f"The tokenizer of {name} gives {token!r} the id {token_id}, but its encoder has vectors for 0 to "
                f"{config.vocab_size - 1} only: leave the word out, or use the checkpoint's own tokenizer."
            )
    n_segments = config.n_segments
    if n_segments > 1 and max(sentence.segments) >= n_segments:  # a table of one row serves every segment
        raise TextError(
            f"The tokenizer of {name} gives a token the segment {max(sentence.segments)}, but its encoder has 0 to "
            f"{n_segments - 1}: use the checkpoint's own tokenizer."
        )
    typed = {one for one, special in zip(sentence.ids, sentence.special, strict=True) if not special}
    if config.causal and sentence.special[-1] and sentence.ids[-1] in typed:
        raise TextError(f"The text has {sentence.tokens[-1]}, which marks the end of a text in {name}: leave it out.")
    return sentence

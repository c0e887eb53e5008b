"""Tokens, words and sentences of a text and of a pair."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder import TextEncoder, TextError
from encoder.inputs.text import Tokenized
from tests.engine.conftest import WORDS, tiny_tokenizer

TOKENIZER = tiny_tokenizer()
#: Whole words, pieces of words, unknown words, special tokens as text, white space and characters of any kind.
texts = st.lists(st.sampled_from([*WORDS, "unhappy", "unhappyhappy", "[SEP]", "\n", "🦜"]) | st.text(max_size=3)).map(
    " ".join
)


def test_words_and_special_tokens_of_one_sentence(minilm: TextEncoder):
    source = minilm.tokenize("The unhappiest embeddings sat.")
    assert source.tokens[2:6] == ("un", "##ha", "##pp", "##iest")
    assert source.words == (-1, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, -1)
    assert source.special == (True, *[False] * 11, True)
    assert set(source.segments) == {0}


def test_words_and_special_tokens_of_a_pair(minilm: TextEncoder):
    """Both sentences keep their words and their own characters."""
    source = minilm.tokenize("Unhappy cats", "Unbelievably good")
    assert source.tokens[0] == "[CLS]"
    specials = [index for index, special in enumerate(source.special) if special]
    assert [source.tokens[index] for index in specials] == ["[CLS]", "[SEP]", "[SEP]"]
    first, second = specials[1], specials[2]
    assert source.segments == (0,) * (first + 1) + (1,) * (second - first)
    assert sorted(set(source.words)) == [-1, 0, 1, 2, 3]
    assert all((word == -1) == special for word, special in zip(source.words, source.special, strict=True))
    assert list(source.words[1:first]) == sorted(source.words[1:first])
    assert source.words[first - 1] == 1
    assert source.words[first + 1] == 2
    for sentence, places in ((source.text, range(1, first)), (source.pair, range(first + 1, second))):
        pieces = [sentence[slice(*source.offsets[place])].lower() for place in places]
        assert pieces == [source.tokens[place].removeprefix("##") for place in places]


def test_special_tokens_that_were_typed_belong_to_the_text(minilm: TextEncoder):
    source = minilm.tokenize("a [SEP] b", "[CLS] c")
    assert source.tokens == ("[CLS]", "a", "[SEP]", "b", "[SEP]", "[CLS]", "c", "[SEP]")
    assert source.special == (True, False, False, False, True, False, False, True)


def test_an_empty_first_sentence(minilm: TextEncoder):
    source = minilm.tokenize("", "cat")
    assert source.tokens == ("[CLS]", "[SEP]", "cat", "[SEP]")
    assert source.words == (-1, -1, 0, -1)
    assert source.offsets[2] == (0, 3)


def test_a_cut_pair_keeps_its_sentences_apart(minilm: TextEncoder):
    source = minilm.tokenize("cat " * 300, "dog " * 400)
    assert len(source) == 512
    assert source.cut
    for index, token in enumerate(source.tokens):
        if token in ("cat", "dog"):
            sentence = source.pair if token == "dog" else source.text
            assert sentence[slice(*source.offsets[index])] == token
            assert source.segments[index] == (token == "dog")


@given(texts, st.none() | texts, st.integers(1, 40), st.none() | st.integers(-1, 40))
def test_windows_cover_the_text_and_never_exceed_the_limit(
    text: str, pair: str | None, max_tokens: int, stride: int | None
):
    whole = TOKENIZER.encode(text, pair)
    if max_tokens < (3 if pair is None else 5):
        with pytest.raises(TextError, match=f"max_tokens={max_tokens}"):
            TOKENIZER.windows(text, max_tokens, stride, pair)
        return
    lengths = [len(text_tokens(whole, segment)) for segment in range(1 if pair is None else 2)]
    free = max_tokens - (len(whole) - sum(lengths))
    room = free if pair is None else free - min(*lengths, free - max(1, free // 4))
    if stride is not None and not 1 <= stride <= room:
        with pytest.raises(TextError, match=rf"stride={stride}\b.* 1 to {room}\b"):
            TOKENIZER.windows(text, max_tokens, stride, pair)
        return
    windows = TOKENIZER.windows(text, max_tokens, stride, pair)
    assert all(len(window.sentence) <= max_tokens for window in windows)
    (slides,) = {window.slides for window in windows}
    assert lengths[slides] == max(lengths)
    for window in windows:
        assert text_tokens(window.sentence, slides) == text_tokens(whole, slides)[slice(*window.tokens)]
        assert window.sentence.n_full == len(whole)
    assert windows[0].tokens[0] == 0
    assert windows[-1].tokens[1] == lengths[slides]
    assert all(window.tokens[1] < lengths[slides] for window in windows[:-1]), "a window that adds no token"
    step = stride or max(1, room // 2)
    for before, after in itertools.pairwise(windows):
        assert after.tokens[0] - before.tokens[0] == step
        assert before.tokens[1] - after.tokens[0] == room - step, "the overlap"


def text_tokens(sentence: Tokenized, segment: int) -> list[tuple[int, tuple[int, int]]]:
    """(id, offsets) of each token of one segment, without special tokens."""
    rows = zip(sentence.ids, sentence.offsets, sentence.special, sentence.segments, strict=True)
    return [(token_id, place) for token_id, place, special, part in rows if part == segment and not special]

"""Tokens, words and sentences of a text and of a pair."""

from __future__ import annotations

from encoder import TextEncoder


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

"""The captions of "digit-words": what they claim is true, its words are the tokenizer's, and the loss knows both."""

from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F

from encoder.inputs.captions import PLAIN_TEMPLATES, TEMPLATES, UNSEEN_TEMPLATES, WORDS, filled
from encoder.inputs.digits import dataset
from recipes.digit_words import captions
from recipes.digit_words.captions import UNSEEN_PAIRS
from recipes.digit_words.strokes import STROKES, limits, strokes
from recipes.digit_words.training import contrastive_loss, which_hold


def drawn(n: int = 3_000) -> list[tuple[int, captions.Stroke | None, captions.Caption]]:
    numbers = random.Random(0)
    places = [(numbers.randrange(10), numbers.choice(STROKES)) for _ in range(n)]
    return [(digit, stroke, captions.draw(numbers, digit, stroke)) for digit, stroke in places]


def test_a_drawn_caption_is_true_and_names_no_pair_that_is_held_out():
    for digit, stroke, caption in drawn():
        assert caption.holds(digit, stroke)
        words = set(caption.text.split())
        named = words & {WORDS[digit], str(digit)} or words & {("even", "odd")[digit % 2]}
        assert len(named) == 1
        assert caption.stroke is None or caption.stroke in words
        assert caption.stroke is None or len(caption.digits) > 1 or (caption.stroke, digit) not in UNSEEN_PAIRS


def test_unseen_templates_are_in_no_training_caption():
    assert not {*TEMPLATES, *PLAIN_TEMPLATES} & set(UNSEEN_TEMPLATES)
    known = set(captions.vocabulary())
    assert any(set(template.split()) - known - {"{number}"} for template in UNSEEN_TEMPLATES)


@pytest.mark.parametrize(
    ("template", "number", "text"),
    [
        ("a {number}", "eight", "an eight"),
        ("a {number}", "8", "an 8"),
        ("a {number}", "one", "a one"),
        ("this is a {number}", "odd digit", "this is an odd digit"),
        ("the digit {number}", "8", "the digit 8"),
        ("a {number}", "thick eight", "a thick eight"),
    ],
)
def test_a_template_is_filled_in_english(template: str, number: str, text: str):
    assert filled(template, number) == text


def test_every_training_caption_is_in_the_vocabulary_and_fits():
    tokenizer = captions.tokenizer()
    for _, _, caption in drawn():
        found = tokenizer.encode(caption.text)
        assert captions.UNKNOWN not in found.tokens
        assert len(found) <= captions.MOST_TOKENS
        assert found.tokens[0] == captions.START
        assert found.tokens[-1] == captions.END


def test_other_words_are_unknown_and_punctuation_is_left_out():
    tokenizer = captions.tokenizer()
    assert tokenizer.encode("A handwritten THREE.").tokens == tokenizer.encode("a handwritten three").tokens
    found = tokenizer.encode("a dog drawn with a pen")
    assert found.tokens[1:4] == ("a", captions.UNKNOWN, "drawn")
    assert tokenizer.special["unk_token"] == captions.UNKNOWN


def test_unknown_words_leave_the_claim_and_reach_every_position():
    numbers = random.Random(1)
    lengths = set()
    for _ in range(500):
        words = captions.with_unknown_words("a thin seven on paper", numbers).split()
        assert [word for word in words if word in ("thin", "seven")] == ["thin", "seven"]
        lengths.add(len(words))
    assert {5, captions.MOST_TOKENS - 2} <= lengths
    assert max(lengths) == captions.MOST_TOKENS - 2


def test_a_third_of_the_training_images_is_thick_and_a_third_thin():
    images, labels, _, _ = dataset()
    found = strokes(images, labels, limits(images, labels))
    for digit in range(10):
        shares = torch.bincount(found[labels == digit], minlength=3) / (labels == digit).sum()
        assert torch.allclose(shares, torch.tensor([1 / 3] * 3), atol=0.05)
    inked = images.sum(dim=(1, 2))
    assert inked[(labels == 7) & (found == 1)].min() > inked[(labels == 7) & (found == 2)].max()


def test_which_caption_holds_agrees_with_each_caption():
    some = [caption for _, _, caption in drawn(200)]
    labels, thickness = torch.arange(30) % 10, torch.arange(30) // 10
    found = which_hold(some, labels, thickness)
    for row, (digit, stroke) in enumerate(zip(labels.tolist(), thickness.tolist(), strict=True)):
        assert found[row].tolist() == [caption.holds(digit, STROKES[stroke]) for caption in some]


def test_the_loss_is_clips_where_each_image_has_one_caption():
    logits = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    places = torch.arange(6)
    clip = (F.cross_entropy(logits, places) + F.cross_entropy(logits.T, places)) / 2
    assert torch.allclose(contrastive_loss(logits, torch.eye(6, dtype=torch.bool)), clip)


def test_two_captions_of_one_digit_are_both_right():
    """Two images of a three and one of a five: either caption of a three is right for both images of it."""
    holds = torch.tensor([[True, True, False], [True, True, False], [False, False, True]])
    least = contrastive_loss(50.0 * holds.float(), holds)
    assert least == pytest.approx(2 / 3 * torch.tensor(2.0).log().item(), abs=1e-4)  # two rows of three choose evenly
    assert contrastive_loss(50.0 * torch.eye(3), holds) > 10 * least

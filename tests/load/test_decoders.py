"""Decoders next to transformers: logits, both kinds of attention, outputs; what a trace, edits and files say."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import encoder
from docs import families
from encoder import EncoderError, causal, edits, explain
from encoder.checkpoints.measured_parity import measured
from encoder.encoders.generate import iter_generate
from encoder.encoders.processors import repeats
from encoder.encoders.seq2seq import GenerationSettings, with_decoder
from encoder.encoders.text import build
from encoder.errors import ConfigError, TextError
from encoder.measure.residual_stream import sublayer_updates
from encoder.model.config import EncoderConfig
from encoder.trace import gradual
from tests.load import decoders, reference
from tests.load.decoders import ALONE, CASES, SEQ2SEQ, Pair, differences, differences_of, generated

TARGET = "w7 w8 w9 w10"
INPUTS, TOKENS = 3, 10
#: One of each kind of start and of cache for beam search; `-m families` tries all.
BEAMED = ("t5", "bart", "marian", "whisper", "gpt2", "gemma2")


@pytest.fixture(scope="module")
def pair() -> Iterator[Callable[..., Pair]]:
    """A checkpoint on both sides, made once."""
    made: dict[str, Pair] = {}
    with ExitStack() as stack:

        def of(name: str, **settings: Any) -> Pair:
            key = name + repr(sorted(settings.items()))
            if key not in made:
                made[key] = stack.enter_context(decoders.pair(CASES[name], settings=settings))
            return made[key]

        yield of


def total(trace: Any) -> float:
    """The log probability of the target."""
    decoder = trace.decoder
    return float(decoder.log_probabilities[decoder.n_prompt - 1 :].sum())


# --- as transformers --------------------------------------------------------------------------------------------------


@pytest.mark.sample(3, "another decoder of the same mechanisms")
@pytest.mark.parametrize("name", CASES)
def test_logits_and_maps(name: str, pair: Callable):
    assert max(differences(CASES[name], torch.float64)) <= 1e-10
    assert max(differences_of(pair(name))) <= 1e-5


@pytest.mark.sample(4, "another decoder of the same mechanisms")
@pytest.mark.parametrize(("name", "beams"), [*((name, 1) for name in CASES), *((name, 4) for name in BEAMED)])
def test_outputs_are_equal_token_by_token(name: str, beams: int, pair: Callable):
    both = pair(name)
    for seed in range(INPUTS):
        ours, theirs = generated(both, both.text(seed), TOKENS, beams)
        assert ours == theirs, seed


@pytest.mark.slow("generates a hundred outputs with every decoder")
@pytest.mark.parametrize("name", CASES)
def test_a_hundred_outputs_are_equal(name: str, pair: Callable):
    both = pair(name)
    for seed in range(100):
        beams = (1, 4)[seed % 2]
        ours, theirs = generated(both, both.text(seed, 3 + seed // 2 % 15), 14, beams)
        assert ours == theirs, (seed, beams)


@pytest.mark.sample(2, "generates with other settings")
@pytest.mark.parametrize(
    "settings",
    [
        {"no_repeat_ngram_size": 2, "min_length": 6},
        {"forced_eos_token_id": 3, "min_length": TOKENS + 1},
        {"forced_eos_token_id": [3, 7], "no_repeat_ngram_size": 1, "forced_bos_token_id": 3},
        {"repetition_penalty": 5.0, "sequence_bias": [[[20], 4.0], [[20, 21], -9.0]], "bad_words_ids": [[4, 5], [9]]},
        {"num_beams": 2, "length_penalty": 2.0, "early_stopping": True},
        {"num_beams": 2, "length_penalty": -1.0, "early_stopping": "never"},
        {"num_beams": 2, "length_penalty": 0.5, "early_stopping": "never", "bad_words_ids": [[85], [93], [40]]},
        {"min_new_tokens": 0, "min_length": 6, "eos_token_id": [*range(2, 60)]},
        {"suppress_tokens": [20, 21, 64], "begin_suppress_tokens": [30, 3, 2], "eos_token_id": [2, 15, 16, 64, 71]},
    ],
    ids=str,
)
def test_the_settings_of_generation_hold(settings: dict[str, Any], pair: Callable):
    both = pair("pegasus", **settings)
    for seed in range(INPUTS):
        for beams in (1, 3):
            ours, theirs = generated(both, both.text(seed), TOKENS, beams)
            assert ours == theirs, (seed, beams)


def test_whisper_begins_with_the_language_that_it_hears(pair: Callable):
    told = {
        "lang_to_id": {"<|en|>": 50, "<|fr|>": 51, "<|de|>": 52},
        "task_to_id": {"transcribe": 60, "translate": 61},
        "no_timestamps_token_id": 70,
        "is_multilingual": True,
        "forced_decoder_ids": [[1, None], [2, 60]],
    }
    both = pair("whisper", **told)
    for seed in range(INPUTS):
        sound = both.text(seed)
        found = both.ours.generate(sound, 6)
        (language,) = both.theirs.detect_language(**both.given(sound)).tolist()
        assert found.prompt == (1, language, 60, 70)
        assert both.ours.generate(sound, 6, begin=("w51", "w61")).prompt == (1, 51, 61)
    found = generated(both, sound, 6, 1, forced_decoder_ids=None, language=None)
    assert found[0] == found[1] or language != found[1]  # transformers gives no prompt to compare


# --- a trace ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t5", "bart", "marian", "whisper"])
def test_a_trace_of_a_target(name: str, pair: Callable):
    model = pair(name).ours
    trace = model.trace(pair(name).text(0), target=TARGET)
    decoder = trace.decoder
    n_target, n_input = len(decoder), len(trace)
    assert decoder.next_ids[:-1] == decoder.ids[1:]
    assert decoder.next_ids[-1] in model.decoder.settings.end
    assert decoder.source.text == TARGET
    for layer in range(decoder.config.n_layers):
        assert decoder.layer_cross_attention(layer).shape == (4 if name != "t5" else 6, n_target, n_input)
    assert trace.cross_attention(1, 2).sum(-1) == pytest.approx(torch.ones(n_target))
    assert torch.equal(trace.cross_scores(1, 2).softmax(-1), trace.cross_attention(1, 2))
    assert not decoder.attention(0, 0).triu(1).any()
    # The recorded values are those of the sublayers: the residual stream is their sum.
    recorded = model.trace(pair(name).text(0), target=TARGET, request=("cross_out", "cross.pattern")).decoder
    for layer in range(decoder.config.n_layers):
        mine = recorded.values[f"layers.{layer}.cross.pattern"]
        torch.testing.assert_close(decoder.layer_cross_attention(layer), mine, atol=1e-5, rtol=0)
        if decoder.config.norm_placement == "pre":
            before, after = (decoder.residual[f"layers.{layer}.{one}"] for one in ("after_attention", "after_cross"))
            torch.testing.assert_close(before + recorded.values[f"layers.{layer}.cross_out"], after)
    updates = [one for layer in range(decoder.config.n_layers) for _, _, one in sublayer_updates(decoder, layer)]
    if decoder.config.norm_placement == "pre":  # each sublayer adds to the residual stream, and nothing else does
        torch.testing.assert_close(decoder.streams[0] + sum(updates), decoder.streams[-1])
    norms = decoder.norms
    assert f"layers.{layer}.cross_norm" in norms
    assert norms["final_norm" if "final_norm" in norms else f"layers.{layer}.ffn_norm"].output == pytest.approx(
        decoder.output, abs=1e-4
    )


def test_padding_of_the_input_is_not_read(pair: Callable):
    model = pair("bart").ours
    text = reference.sentence(6)
    plain, padded = model.trace(text, target=TARGET), model.trace(text, target=TARGET, pad_to=15)
    torch.testing.assert_close(padded.decoder.log_probabilities, plain.decoder.log_probabilities, atol=1e-4, rtol=0)
    maps = padded.decoder.cross_attentions
    assert not maps[..., len(plain) :].any()
    unpadded = padded.unpadded.decoder
    assert unpadded.memory_labels == plain.labels
    torch.testing.assert_close(unpadded.cross_attentions, plain.decoder.cross_attentions, atol=1e-5, rtol=0)


def test_an_output_is_the_target_that_gives_the_same_probabilities(pair: Callable):
    model, text = pair("bart").ours, reference.sentence(8)
    found = model.generate(text, TOKENS, beams=3)
    again = model.generate(text, target=found.ids)
    assert again.ids == found.ids
    assert again.log_probability == pytest.approx(found.log_probability)
    assert total(found.trace) == pytest.approx(found.log_probability, abs=1e-3)
    assert found.ids == found.hypotheses[0].ids
    assert [one.score for one in found.hypotheses] == sorted((one.score for one in found.hypotheses), reverse=True)
    kept = [node for node in found.nodes if node.kept]
    assert all(node.parent is None or found.nodes[node.parent].step == node.step - 1 for node in found.nodes)
    assert all(node.parent is None or found.nodes[node.parent].kept for node in kept)
    step = found.steps[0]
    assert step.log_probabilities == tuple(sorted(step.log_probabilities, reverse=True))


def test_the_cache_changes_nothing(pair: Callable):
    """With edits each step runs everything again; an edit that changes nothing must give the same output."""
    for name in ("t5", "bart", "gpt2", "llama", "gemma2", "bloom"):
        model, text = pair(name).ours, reference.sentence(7, 3)
        for beams in (1, 3):
            same = model.generate(text, TOKENS, beams=beams, decoder_edits=[edits.Scale("after_ffn", 1.0)])
            assert same.ids == model.generate(text, TOKENS, beams=beams).ids


def test_steps_can_be_watched(pair: Callable):
    model = pair("bart").ours
    trace = model.trace(reference.sentence(8))
    seen = []
    work = iter_generate(model, model.decoder, trace, TOKENS)
    found = gradual.result(gradual.reported(work, seen.append))
    assert [found.ids[: len(one)] for one in seen] == seen
    assert seen[-1] == found.ids


def test_a_decoder_alone_continues_a_text(pair: Callable):
    model, text = pair("gpt2").ours, reference.sentence(5)
    found = model.generate(text, TOKENS)
    assert found.prompt == model.tokenize(text).ids
    assert found.trace.ids == (*found.prompt, *found.ids)
    with pytest.raises(EncoderError, match="decoder that reads an input"):
        model.trace(text, target=TARGET)


def test_numbers_that_would_repeat():
    assert repeats((1, 2, 3, 1, 2), 3) == [3]
    assert repeats((1, 2, 1), 2) == [2]
    assert repeats((1, 2), 0) == repeats((1,), 2) == []


# --- what reaches across ----------------------------------------------------------------------------------------------


def test_effects_of_heads_on_a_target(pair: Callable):
    """Rows of a batch give what each run by itself gives."""
    model, text = pair("bart").ours, reference.sentence(8)
    plain = model.trace(text, target=TARGET)
    effects = causal.ablate_each_head(model, text, causal.TargetProbability(TARGET))
    alone = model.trace(text, target=TARGET, edits=[edits.AblateHead(1, 2)])
    assert float(effects[1, 2]) == pytest.approx(total(alone) - total(plain), abs=1e-3)
    for cross in (False, True):
        found = causal.ablate_each_head(model.decoder, plain.decoder, causal.TargetProbability(), cross=cross)
        alone = model.trace(text, target=TARGET, decoder_edits=[edits.AblateHead(1, 3, cross=cross)])
        assert float(found[1, 3]) == pytest.approx(total(alone) - total(plain), abs=1e-3)
        assert found.abs().min() > 0


def test_edits_of_cross_attention_are_the_same_in_a_batch_and_alone(pair: Callable):
    model, text = pair("t5").ours, reference.sentence(8)
    plain, other = model.trace(text, target=TARGET), model.trace(reference.sentence(8, 5), target=TARGET)
    variants = [
        (edits.MaskKeys((3,), cross=True),),
        (edits.MaskKeys((2,), layer=1, head=0, query=1, cross=True),),
        (edits.SetWeight(0, 1, 2, 3, 0.5, cross=True),),
        (edits.Temperature(2.0, layer=0, cross=True),),
        (edits.Zero("cross_out", layer=1),),
        (edits.Replace("cross.v", other.decoder, positions=(4,)),),
        (edits.Scale("cross.q", 0.5, heads=(1,)), edits.AblateHead(0, 0)),
    ]
    outcome = causal.TargetProbability()
    work = causal.iter_effects(model.decoder, plain.decoder, variants, outcome, (len(variants),))
    for variant, effect in zip(variants, gradual.result(work), strict=True):
        alone = model.trace(text, target=TARGET, decoder_edits=variant)
        assert float(effect) == pytest.approx(total(alone) - total(plain), abs=1e-3)
        if not isinstance(variant[0], edits.Replace):
            assert edits.parse(edits.format(variant)) == variant
    hidden = model.trace(text, target=TARGET, decoder_edits=variants[0])
    assert not hidden.decoder.cross_attentions[..., 3].any()
    changed = model.trace(text, target=TARGET, decoder_edits=variants[2])
    assert float(changed.cross_attention(0, 1)[2, 3]) == pytest.approx(0.5)


def test_vectors_of_another_input(pair: Callable):
    """Swapped vectors give the other input's output; one vector in their place is the same edit on both sides."""
    model = pair("bart").ours
    one, two = (model.trace(reference.sentence(8, seed), target=TARGET) for seed in (0, 5))
    assert total(model.decode(one, TARGET)) == pytest.approx(total(one))
    swapped = model.trace(reference.sentence(8, 0), target=TARGET, edits=[edits.Replace("output", two)])
    assert total(swapped) == pytest.approx(total(two), abs=1e-4)
    at_output = model.trace(
        reference.sentence(8, 0), target=TARGET, edits=[edits.Replace("output", two, positions=(3,))]
    )
    at_memory = model.decode(one, TARGET, edits=[edits.Replace("memory", two.decoder, positions=(3,))])
    assert total(at_memory) == pytest.approx(total(at_output), abs=1e-4)
    grid = causal.patch(model, reference.sentence(8, 5), reference.sentence(8, 0), causal.TargetProbability(TARGET))
    assert grid.shape == (3, len(one))


@pytest.mark.parametrize("position", [None, 1])
def test_gradients(position: int | None, pair: Callable):
    """A small step along any direction changes the outcome by the gradient times the step."""
    model, text = pair("marian").ours, reference.sentence(6)
    trace, outcome = model.trace(text, target=TARGET), causal.TargetProbability(position=position)
    found = encoder.gradients.gradients(model.decoder, trace.decoder, outcome)
    assert found.stack("cross.pattern").shape == trace.decoder.cross_attentions.shape
    step = torch.randn(trace.output.shape, generator=torch.Generator().manual_seed(0)) * 1e-3
    with torch.no_grad():
        measure = outcome.on(model, trace)
        after, before = (float(measure((trace.output + sign * step)[None])) for sign in (1, -1))
    assert float((found.of["memory"] * step).sum()) == pytest.approx((after - before) / 2, rel=0.02, abs=1e-4)
    of_input = trace.gradients(outcome)
    torch.testing.assert_close(of_input.of["output"], found.of["memory"], atol=1e-4, rtol=1e-3)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(3, "another decoder of the same mechanisms")
@pytest.mark.parametrize("name", ["t5", "bart", "whisper", "gpt2", "llama, untied"])
@pytest.mark.parametrize("layout", ["huggingface", "encoderscope"])
def test_a_decoder_is_saved(name: str, layout: str, pair: Callable, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    both = pair(name)
    with caplog.at_level(logging.WARNING):
        folder = encoder.save(both.ours, tmp_path / "saved", layout=layout)
        again: Any = encoder.load(folder, device="cpu")
        assert not caplog.records
        assert again.decoder.settings == both.ours.decoder.settings
        given = both.text(0)
        assert again.generate(given, TOKENS).ids == both.ours.generate(given, TOKENS).ids
        if layout == "huggingface" and name != "whisper":
            kind = transformers.AutoModelForSeq2SeqLM if both.ours.decoder.reads else transformers.AutoModelForCausalLM
            theirs = kind.from_pretrained(folder).eval()
            ours, found = generated(dataclasses.replace(both, theirs=theirs), given, TOKENS, 1)
            assert ours == found


def test_a_model_in_memory_writes(pair: Callable, tmp_path: Path):
    both = pair("bart")
    folder = encoder.save(both.ours, tmp_path / "saved", layout="huggingface")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    wrapped = encoder.wrap(both.theirs, tokenizer)
    text = reference.sentence(8)
    assert wrapped.generate(text, TOKENS).ids == both.ours.generate(text, TOKENS).ids
    table = wrapped.encoder.embedding.tokens.weight
    assert table is wrapped.decoder.encoder.embedding.tokens.weight


@pytest.mark.parametrize("weights", [True, False])
def test_a_trace_with_a_target_is_saved(weights: bool, pair: Callable, tmp_path: Path):
    model, text = pair("bart").ours, reference.sentence(8)
    trace = model.trace(text, target=TARGET, decoder_edits=[edits.AblateHead(0, 1, cross=True)])
    again = encoder.open_trace(trace.save(tmp_path / "trace.safetensors", weights=weights), None if weights else model)
    assert again.decoder.labels == trace.decoder.labels
    assert again.decoder.next_ids == trace.decoder.next_ids
    assert torch.equal(again.decoder.cross_attentions, trace.decoder.cross_attentions)
    assert torch.equal(again.decoder.log_probabilities, trace.decoder.log_probabilities)


def test_norms_move_in_both_stacks(pair: Callable):
    moved = pair("bart").ours.with_norm_placement("pre")
    assert moved.decoder.config.norm_placement == moved.config.norm_placement == "pre"
    tables = [one.encoder.embedding.tokens.weight.data_ptr() for one in (moved, moved.decoder, pair("bart").ours)]
    assert len(set(tables)) == 1
    alone = pair("gpt2").ours.with_norm_placement("post")
    assert alone.decoder.encoder is alone.encoder


def test_a_copy_in_another_type_writes(pair: Callable):
    copy = pair("bart").ours.to("cpu", "bfloat16")
    assert copy.encoder.embedding.tokens.weight is copy.decoder.encoder.embedding.tokens.weight
    assert copy.generate(reference.sentence(5), 4).ids
    alone = pair("gpt2").ours.to("cpu", "bfloat16")
    assert alone.decoder.encoder is alone.encoder
    assert alone.decoder.tokenizer is pair("gpt2").ours.decoder.tokenizer


@pytest.mark.parametrize(
    "fields",
    [
        {"eos_token_id": "a"}, {"bad_words_ids": 3}, {"early_stopping": "always"}, {"forced_bos_token_id": 1000},
        {"num_beams": 2, "length_penalty": "2"}, {"lang_to_id": [1]}, {"forced_decoder_ids": [1]}, {"min_length": "3"},
        {"decoder_start_token_id": 5000},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_settings_leave_the_encoder(fields: dict[str, Any], pair: Callable, tmp_path: Path):
    folder = encoder.save(pair("bart").ours, tmp_path / "saved", layout="huggingface")
    (folder / "generation_config.json").write_text(json.dumps(fields), encoding="utf-8")
    found: Any = encoder.load(folder)
    assert found.decoder is None
    assert any(note.startswith("The encoder is open without its decoder.") for note in found.notes)
    with pytest.raises(EncoderError, match="without its decoder"):
        found.generate("w7")


def test_a_broken_decoder_leaves_the_encoder(pair: Callable, tmp_path: Path):
    from safetensors.torch import load_file, save_file

    folder = encoder.save(pair("bart").ours, tmp_path / "saved", layout="huggingface")
    file = folder / "model.safetensors"
    weights = load_file(file)
    del weights["model.decoder.layers.1.encoder_attn.k_proj.weight"]
    save_file(weights, file)
    found: Any = encoder.load(folder)
    assert found.decoder is None
    assert any("encoder_attn.k_proj" in note for note in found.notes)
    assert torch.equal(found.trace("w7 w8").output, pair("bart").ours.trace("w7 w8").output)


# --- wrong input ------------------------------------------------------------------------------------------------------


def test_wrong_calls_get_a_sentence(pair: Callable):
    model, text = pair("bart").ours, reference.sentence(5)
    plain = model.trace(text, target=TARGET)
    outcome = causal.TargetProbability
    calls: list[Callable[[], Any]] = [
        lambda: model.trace(text, target=""),
        lambda: model.trace(text, target=[]),
        lambda: model.trace(text, target=[5000]),
        lambda: model.trace(text, target="w9 " * 300),
        lambda: model.generate(text, 0),
        lambda: model.generate(text, beams=99),
        lambda: model.generate(text, target=[5.9, 2]),
        lambda: model.generate(text, target=5),
        lambda: model.generate(text, target=[True, 2]),
        lambda: model.generate(text, target=torch.tensor([5.9, 2.0])),
        lambda: model.generate(text, target=b"w5"),
        lambda: model.generate(text, 5, decoder_edits=[edits.AblateHead(0, 9, cross=True)]),
        lambda: model.generate(text, target=TARGET, decoder_edits=[edits.AblateHead(7, 0)]),
        lambda: model.generate(text, begin=["nothing"]),
        lambda: model.trace(text).cross_attention(0, 0),
        lambda: model.trace(text, edits=[edits.AblateHead(0, 0, cross=True)]),
        lambda: model.trace(text, target=TARGET, decoder_edits=[edits.AblateHead(0, 9, cross=True)]),
        lambda: model.trace(text, target=TARGET, decoder_edits=[edits.MaskKeys((77,), cross=True)]),
        lambda: model.trace(text, target=TARGET, decoder_edits=[edits.Zero("memory", positions=(77,))]),
        lambda: edits.AblateHead(0, 0, cross=1),
        lambda: causal.ablate_each_head(model, text, outcome()),
        lambda: causal.ablate_each_head(model, text, outcome(TARGET, position=90)),
        lambda: causal.ablate_each_head(model, text, outcome(TARGET, token="w9")),
        lambda: causal.ablate_each_head(model.decoder, plain.decoder, outcome(TARGET)),
        lambda: causal.ablate_each_head(model.decoder, plain.decoder),
        lambda: explain.Recomputation(plain.decoder),
        lambda: encoder.gradients.direct_effect(plain.decoder, outcome()),
        lambda: encoder.load("minilm").generate(text),
        lambda: causal.ablate_each_head(encoder.load("minilm"), text, outcome(TARGET)),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(EncoderError) as caught:
            call()
        assert str(caught.value).endswith("."), number


def test_a_new_decoder_is_checked():
    tokenizer = encoder.load("minilm").tokenizer
    sizes: dict[str, Any] = {"vocab_size": tokenizer.vocab_size, "d_model": 24, "n_layers": 1, "n_heads": 2, "d_ffn": 8}
    model = build(EncoderConfig(**sizes), tokenizer)
    start = GenerationSettings(start=(101,), end=(102,))
    fits = EncoderConfig(**sizes, causal=True, memory_width=24)
    assert with_decoder(model, fits, tokenizer, start).generate("a", 3).ids
    for config, settings in (
        (fits.replace(causal=False), start),
        (fits.replace(memory_width=8), start),
        (fits, GenerationSettings()),
        (fits, GenerationSettings(start=(10**6,))),
        (fits, GenerationSettings(start=(1,), begin=(-1,))),
    ):
        with pytest.raises(ConfigError):
            with_decoder(model, config, tokenizer, settings)
    with pytest.raises(ConfigError):
        fits.replace(norm_placement="pre", parallel=True)
    with pytest.raises(TextError):
        with_decoder(model, fits, tokenizer, start).trace("a", target="")


def test_encoders_alone_have_no_decoder(tmp_path: Path):
    """A checkpoint of the encoder, and one of a classifier, whose decoder was not trained to write."""
    assert encoder.load("minilm").decoder is None
    case = dataclasses.replace(SEQ2SEQ["t5"], model="T5EncoderModel")
    case.make().save_pretrained(tmp_path / "t5")
    reference.write_tokenizer(tmp_path / "t5", "bert")
    assert encoder.load(tmp_path / "t5").decoder is None
    case = dataclasses.replace(SEQ2SEQ["bart"], model="BartForSequenceClassification")
    case.make().save_pretrained(tmp_path / "bart")
    reference.write_tokenizer(tmp_path / "bart", "roberta")
    found = encoder.load(tmp_path / "bart")
    assert found.decoder is None
    assert any("decoder" in note for note in found.notes)


def test_every_family_that_writes_is_here():
    """Each family with a decoder in the tables has a case; those that share a table may share one."""
    from encoder.checkpoints.families import FAMILIES

    reading = {kind for kind, family in FAMILIES.items() if family.decoder is not None}
    assert reading == {
        "bart", "bigbird_pegasus", "led", "longt5", "m2m_100", "marian", "mbart", "mt5", "pegasus", "t5", "umt5",
        "whisper",
    }  # fmt: skip
    heads = {id(family.lm.config) for family in FAMILIES.values() if family.lm is not None and family.decoder is None}
    assert len(ALONE) >= len(heads)


def test_the_registry_has_every_decoder():
    rows = {row.model_type: row for row in measured().decoders}
    assert set(rows) == {getattr(transformers, f"{case.kind}Config").model_type for case in CASES.values()}
    for name, row in rows.items():
        assert max(row.float64) <= 1e-10, name
        assert max(row.float32) <= 1e-5, name
        assert row.equal == row.outputs >= 200, name
        assert f"| {row.family} | {name} |" in families.text()

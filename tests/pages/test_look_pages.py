"""Queries, keys, values; Positions; LayerNorm under AppTest: links, page switches, odd texts, and their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

import encoder
from pages.core import formulas, token_rows
from tests.pages.apps import assert_well, sentences, visit

PAGES = ("qkv", "positions", "layernorm")
TITLES = {"qkv": "Queries, keys, values", "positions": "Positions", "layernorm": "LayerNorm"}


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


def written(app: AppTest) -> str:
    """The page's running text, without Markdown's escapes."""
    texts = [element.value for kind in ("markdown", "caption", "subheader") for element in app.get(kind)]
    return "\n".join(texts).replace("\\", "")


def title(app: AppTest) -> str:
    return app.header[0].value


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_and_keeps_the_view(page: str) -> None:
    app = visit(page, text="one two three", layer="3", head="7", i="2", j="1")
    assert_well(app)
    assert title(app) == TITLES[page]
    assert app.sidebar.text_area(key="view:text").value == "one two three"
    assert app.sidebar.number_input(key="view:layer").value == 3
    assert app.query_params["i"] == "2"


def test_switching_between_the_pages() -> None:
    app = visit(text="a b a", i="1")
    for page in (*PAGES, *PAGES[::-1], "heads"):
        app.switch_page(f"pages/{page}/page.py").run()
        assert_well(app)
        assert app.query_params["i"] == "1"


@pytest.mark.parametrize("page", PAGES)
def test_any_text(page: str) -> None:
    app = visit(page)
    for text in ("x", "", "the the the", "القطة جلست", "**b** $x$ `c` :smile: [a](b) #1", "😀"):
        app.sidebar.text_area(key="view:text").set_value(text).run()
        assert_well(app)
        assert title(app) == TITLES[page], text


LONG = "attention is all you need " * 60  # 302 tokens


def parts(app: AppTest) -> dict[str, int]:
    """The sliders that choose which part of a long text is drawn: label -> first token."""
    return {slider.label: slider.value for slider in app.select_slider if slider.label.lower().endswith("tokens")}


def test_a_long_text_is_drawn_in_parts() -> None:
    app = visit("layernorm", text=LONG, i="270")
    assert_well(app)
    assert parts(app) == {"Tokens": 46}, "the part with the selected token, and 256 tokens of it"
    app.switch_page("pages/positions/page.py").run()
    assert_well(app)
    # Positions are drawn up to 512 at once; what the order of the words does has a bar a token.
    assert parts(app) == {"Tokens": 46}


def test_the_parts_of_queries_and_keys_hold_the_selected_pair() -> None:
    app = visit("qkv", text=LONG, i="5", j="300")
    assert_well(app)
    assert parts(app) == {"Query tokens": 0, "Key tokens": 46}
    assert "Tokens 0 to 255 of 302 are drawn." in written(app)
    assert "Tokens 46 to 301 of 302 are drawn." in written(app)
    # Away from the selected token the page says so; another token brings its own part.
    app.select_slider[1].set_value(0).run()
    assert "Tokens 0 to 255 of 302 are drawn; token 300, which is looked at, is not among them." in written(app)
    # Where nothing is selected, the pair that is spelled out is drawn.
    app = visit("qkv", text=LONG, layer="0", head="2")
    assert parts(app)["Query tokens"] == 0
    assert "not among them" not in written(app)


@pytest.mark.parametrize(("n_tokens", "starts"), [(257, [0, 1]), (512, [0, 256]), (513, [0, 256, 257]), (300, [0, 44])])
def test_parts_of_a_long_text_are_full(n_tokens: int, starts: list[int]) -> None:
    assert token_rows.part_starts(n_tokens) == starts


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("positions", "norm"), [("learned", "post"), ("sinusoidal", "pre"), ("rotary", "pre"), ("none", "post")]
)
def test_every_kind_of_encoder(page: str, positions: str, norm: str) -> None:
    app = visit(page, model="scratch", norm=norm, positions=positions, layers="1", heads="2", width="12", ffn="20")
    assert_well(app)


@pytest.mark.parametrize("page", PAGES)
def test_a_model_that_cannot_be_is_a_sentence(page: str) -> None:
    app = visit(page, model="scratch", width="65")
    assert not app.exception
    assert "cannot be split" in sentences(app)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.184, "0.184"),
        (-2.5, "−2.500"),
        (0.0, "0.000"),
        (0.0004, "4.0 × 10⁻⁴"),
        (-2.67e-5, "−2.7 × 10⁻⁵"),
        (1, "1.000"),
    ],
)
def test_numbers_in_sentences(value: float, said: str) -> None:
    assert formulas.number(value) == said


def test_right_to_left_tokens_are_isolated_in_lists_and_sentences() -> None:
    app = visit(text="שלום עולם", layer="0", head="2")
    shown = app.dataframe[0].value["token"].tolist()
    assert any(" → " in pair and "\u2068" in pair for pair in shown)
    for pair in shown:
        assert pair.count("\u2068") == pair.count("\u2069")
        assert pair.startswith("\u200e") == ("\u2068" in pair)
    app.switch_page("pages/qkv/page.py").run()
    assert "\u2068" in app.subheader[0].value


# --- Queries, keys, values -------------------------------------------------------------------------------


def test_the_selected_pair_is_spelled_out(minilm: encoder.TextEncoder) -> None:
    text = "The cat sat on the mat"
    trace = minilm.trace(text)
    dot = float(trace.q[2, 3, 2].double() @ trace.k[2, 3, 6].double())
    app = visit("qkv", text=text, layer="2", head="3", i="2", j="6")
    shown = written(app).replace("−", "-")
    assert ":blue[cat] looks at :red[mat]" in shown
    assert f"add up to {dot:.3f}" in shown
    assert f"the score is **{dot / 32**0.5:.3f}**" in shown
    assert f"a weight of **{formulas.number(float(trace.attention(2, 3)[2, 6]))}**" in shown
    assert "No pair is selected" not in shown


def test_the_products_add_up_in_the_table(minilm: encoder.TextEncoder) -> None:
    app = visit("qkv", text="The cat sat", layer="5", head="11", i="1", j="3")
    table = app.dataframe[0].value
    trace = minilm.trace("The cat sat")
    assert table["q"].to_numpy() == pytest.approx(trace.q[5, 11, 1].numpy(), abs=1e-5)
    assert table["k"].to_numpy() == pytest.approx(trace.k[5, 11, 3].numpy(), abs=1e-5)
    assert table["running_sum"].iloc[-1] == pytest.approx(float(trace.q[5, 11, 1] @ trace.k[5, 11, 3]), rel=1e-4)


def test_the_products_in_a_sentence(minilm: encoder.TextEncoder) -> None:
    trace = minilm.trace("The cat sat")
    q, k = (vectors[5, 11, place].double() for vectors, place in ((trace.q, 1), (trace.k, 3)))
    products, number = q * k, formulas.number
    app = visit("qkv", text="The cat sat", layer="5", head="11", i="1", j="3")
    shown = written(app)
    assert f"above 0 add up to {number(float(products.clamp(min=0).sum()))}" in shown
    assert f"below 0 to {number(float(products.clamp(max=0).sum()))}" in shown
    largest = int(products.abs().argmax())
    assert f"component {largest} with {number(float(products[largest]))}" in shown
    assert f"is {number(float(torch.cosine_similarity(q, k, dim=0)))}." in shown


def test_without_a_selection_the_strongest_pair_of_the_first_word_is_shown(minilm: encoder.TextEncoder) -> None:
    app = visit("qkv", text="The cat sat", layer="0", head="2")
    strongest = int(minilm.trace("The cat sat").attention(0, 2)[1].argmax())
    assert f"(token {strongest})" in written(app)
    assert "No pair is selected, so this one is shown." in written(app)
    assert "the largest of all" in written(app)


def test_formulas_are_typeset_in_the_colours_of_queries_and_keys() -> None:
    app = visit("qkv", text="The cat sat", i="1", j="2")
    formulas = "".join(element.value for element in app.get("latex"))
    assert r"\sqrt{K}" in formulas
    assert "#1a57ae" in formulas
    assert "#b32836" in formulas


# --- Positions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rows", "said"),
    [
        ("learned", "sentence", "**drawn at random and never trained**"),
        ("sinusoidal", "all", "**sines and cosines**"),
        ("rotary", "sentence", "It **turns** queries and keys"),
        ("none", "all", "has **no positions**"),
    ],
)
def test_the_encoding_in_use_is_named(kind: str, rows: str, said: str) -> None:
    app = visit("positions", model="scratch", positions=kind, rows=rows, text="one two")
    assert_well(app)
    assert said in written(app)
    assert "trained like any other weight" not in written(app)
    same = "This model cannot tell the two orders apart." in written(app)
    assert same == (kind == "none"), "only without positions the order makes no difference"


def test_learned_positions_in_words(minilm: encoder.TextEncoder) -> None:
    app = visit("positions", text="The cat sat")
    trace, shown = minilm.trace("The cat sat"), written(app)
    assert "trained like any other weight" in shown
    assert f"what is added is {float(trace.position.norm(dim=-1).mean()):.3g} long on average" in shown
    # Typed the other way round by hand: "sat cat the".
    other = minilm.trace("sat cat the").output[[0, 3, 2, 1, 4]]
    cosine = torch.cosine_similarity(trace.output, other, dim=-1)
    assert f"“{trace.labels[int(cosine.argmin())]}” changes most: its cosine is {float(cosine.min()):.3f}" in shown


def test_an_odd_width_says_why_no_sines_are_drawn() -> None:
    app = visit("positions", model="scratch", positions="learned", width="13", heads="1", text="one two")
    assert_well(app)
    assert "come in pairs, and the width of this model, 13, is odd" in written(app)


def test_the_product_of_a_pair_by_distance(minilm: encoder.TextEncoder) -> None:
    query = {"model": "scratch", "positions": "rotary", "text": "one two three", "i": "1", "j": "3", "head": "1"}
    app = visit("positions", **query)
    assert_well(app)
    config = encoder.EncoderConfig(
        vocab_size=minilm.config.vocab_size,
        d_model=64,
        n_layers=2,
        n_heads=4,
        d_ffn=256,
        max_positions=8192,
        position="rotary",
    )
    trace = encoder.build(config, minilm.tokenizer, seed=0).trace("one two three")
    product = float(trace.q[0, 1, 1] @ trace.k[0, 1, 3])
    assert f"are 2 apart (key minus query), and q · k is {formulas.number(product)}." in written(app)


def test_a_long_text_is_not_turned_around() -> None:
    app = visit("positions", model="scratch", layers="1", width="12", heads="2", ffn="20", text="a b " * 520)
    assert_well(app)
    assert "This text has 1,042 tokens. Up to 1,024 are run once more in reverse order" in written(app)


@pytest.mark.parametrize("position", ["learned", "none"])
def test_relative_buckets(
    position: str, tmp_path: Path, minilm: encoder.TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = encoder.EncoderConfig(
        vocab_size=minilm.config.vocab_size,
        d_model=12,
        n_layers=1,
        n_heads=3,
        d_ffn=20,
        max_positions=64,
        position=position,
        relative_buckets=8,
        relative_max_distance=16,
    )
    model = encoder.build(config, minilm.tokenizer, seed=0)
    encoder.save(model, tmp_path / "relative")
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    app = visit("positions", model="other", source="relative", text="one two three", head="2")
    assert_well(app)
    shown = written(app)
    expected = "Beside that, each head adds a number" if position == "learned" else "It knows how far apart two"
    assert expected in shown
    assert "Head 2 adds most, " in shown
    assert "This model cannot tell the two orders apart." not in shown


def test_the_curve_says_the_sines_own_numbers() -> None:
    app = visit("positions", model="scratch", positions="none", width="512", rows="all", product="dot", heads="4")
    assert_well(app)
    assert "Sinusoidal: 249.10 for neighbours" in written(app)


def test_layers_turn_by_their_own_base() -> None:
    app = visit("positions", model="scratch", positions="rotary", width="32", heads="2", layer="1")
    assert "10,000^(2c/16) in layer 1" in written(app)


# --- LayerNorm -------------------------------------------------------------------------------------------


def test_a_norm_in_detail(minilm: encoder.TextEncoder) -> None:
    text, name, token = "The cat sat", "layers.2.ffn_norm", 2
    app = visit("layernorm", text=text, at=name, i=str(token))
    assert_well(app)
    norm = minilm.trace(text).norms[name]
    shown, number = written(app), formulas.number
    assert "cat (token 2) at L2 FFN" in shown
    assert f"| before | {number(float(norm.mean[token]))} | {number(float(norm.std[token]))} |" in shown
    assert "| normalised | 0.000 | 1.000 |" in shown
    mean, std = float(norm.output[token].mean()), float(norm.output[token].std(correction=0))
    assert f"| after × gain + bias | {number(mean)} | {number(std)} |" in shown
    table = app.dataframe[0].value
    assert table["output"].to_numpy() == pytest.approx(norm.output[token].numpy(), abs=1e-5)
    assert table["normalised"].to_numpy() == pytest.approx(norm.normalised[token].numpy(), abs=1e-5)


def test_the_slider_goes_through_the_norms() -> None:
    app = visit("layernorm", text="The cat sat")
    slider = app.select_slider(key="norm-slider")
    assert slider.options[0] == "embedding"
    assert len(slider.options) == 13
    slider.set_value("layers.4.attention_norm").run()
    assert_well(app)
    assert app.query_params["at"] == "layers.4.attention_norm"
    assert "Gain and bias of L4 attention" in written(app)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"at": "layers.99.ffn_norm"}, "This model has no norm layers.99.ffn_norm. Shown: embedding."),
        ({"component": "9999"}, "component=9999: this norm has components 0 to 383."),
        ({"component": "x"}, "a whole number is needed"),
        ({"rows": "few"}, "choose one of sentence, all"),
    ],
)
def test_a_bad_link_falls_back_with_a_word(query: dict[str, str], said: str) -> None:
    app = visit("layernorm", **query)
    assert_well(app)
    # What the frame says about a link stands on the page that was opened first.
    first = visit(**query)
    assert said in (sentences(app) + sentences(first)).replace("\\", "")


def test_pre_norm_has_a_final_norm() -> None:
    app = visit("layernorm", model="scratch", norm="pre", layers="2", at="final_norm")
    assert_well(app)
    assert "**pre-norm**" in written(app)
    assert "at final" in written(app)


def test_gain_and_bias_in_words(minilm: encoder.TextEncoder) -> None:
    app = visit("layernorm", text="The cat sat", at="layers.2.ffn_norm")
    norm, number = minilm.trace("The cat sat").norms["layers.2.ffn_norm"], formulas.number
    gain = f"from {number(float(norm.gain.min()))} (component {int(norm.gain.argmin())})"
    assert gain in written(app)
    assert f"(component {int(norm.bias.argmax())}). Components that stand out" in written(app)
    assert "which training has found" in written(app)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_from_scratch_has_learned_nothing(norm: str) -> None:
    app = visit("layernorm", model="scratch", norm=norm, text="The cat sat")
    assert_well(app)
    shown = written(app)
    assert "Nothing is trained here: every gain is still 1 and every bias 0." in shown
    assert "Every gain is 1 and every bias 0, as drawn" in shown
    assert "each mean is 0 up to rounding" in shown
    assert "No component stands out" in shown
    assert "training has found" not in shown


def test_outlier_dimensions_in_words(minilm: encoder.TextEncoder) -> None:
    text = "The animal didn't cross the street because it was too tired."
    app = visit("layernorm", text=text, at="layers.0.ffn_norm")
    x = minilm.trace(text).norms["layers.0.ffn_norm"].input.abs()
    ratio = float(x[0, 99] / x.median())
    assert f"**component 99** with |x| = {float(x[0, 99]):.3g} at “[CLS]”, {ratio:.0f} times the median" in written(app)
    assert "Component 99 is the largest at 11 of 13 norms" in written(app)


def test_three_norms_in_words(minilm: encoder.TextEncoder) -> None:
    app = visit("layernorm", text="The cat sat on the mat", at="layers.1.ffn_norm")
    x = minilm.trace("The cat sat on the mat").norms["layers.1.ffn_norm"].input.double()
    rms = x / (x**2).mean(dim=1, keepdim=True).sqrt()
    batch = ((x - x.mean(dim=0)) / x.std(dim=0, correction=0)).std(dim=1, correction=0)
    means, number, shown = rms.mean(dim=1), formulas.number, written(app)
    assert f"After RMSNorm the means run from {number(float(means.min()))} to {number(float(means.max()))}" in shown
    labels = minilm.trace("The cat sat on the mat").labels
    assert f"“{labels[int(batch.argmax())]}” {number(float(batch.max()))}." in shown
    assert "LayerNorm's numbers for this sentence move by 0.000, RMSNorm's by 0.000" in shown


@pytest.mark.parametrize("model", ["twin-pre", "twin-post"])
def test_the_twins(model: str) -> None:
    app = visit("layernorm", model=model, text="The cat sat", at="layers.3.ffn_norm", scale="log")
    assert_well(app)
    assert f"**{model.replace('twin-', '')}-norm**" in written(app)
    assert "Gain and bias of L3 FFN" in written(app)

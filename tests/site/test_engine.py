"""The engine of the browser gives the numbers of the Python engine, from files that hold the same weights."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import encoder
import encoder.live
from docs.site import ROUNDED
from encoder.drawing.javascript import joined
from encoder.inputs import digits
from encoder.live.packed import BLOCK, Bits, browser_model
from encoder.model import activation
from encoder.views.model_picture import model_picture
from tests.run_javascript import evaluated

BROWSER = Path(encoder.live.__file__).parent / "browser"
#: float16 files of weights that are float16 anyway: what is left is the order of sums.
CLOSE = 1e-4
WORDS = ("the", "cat", "river", "banks", "Ünïcode", "naïve", "北京", "don't", "unbelievably", "[MASK]", "😀", "2,000",
         "(x)", "a" * 120, "İstanbul", "e\u0301te\u0301", "tab\tbed", "soft\u00adhyphen", "fi\ufb01", "—")  # fmt: skip


def texts(count: int) -> list[str]:
    """Texts of 1 to 24 words, always the same."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, size=int(rng.integers(1, 25)))) for _ in range(count)]


def unpack(name: str | encoder.TextEncoder, folder: Path, bits: Bits = 16) -> None:
    """Write what a page fetches of a model: model.bin, and a file for each block of word vectors."""
    model = encoder.load(name) if isinstance(name, str) else name
    assert isinstance(model, encoder.TextEncoder | encoder.ImageEncoder)
    files = browser_model(model, bits)
    (folder / "model.bin").write_bytes(gzip.decompress(files.main))
    for at, block in enumerate(files.blocks):
        (folder / f"{at}.bin").write_bytes(gzip.decompress(block))


def in_browser(name: str | encoder.TextEncoder, expression: str, folder: Path, bits: Bits = 16, **given: Any) -> Any:
    """The value of an expression over `model` (a Model of the site) and `given`."""
    unpack(name, folder, bits)
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    module = folder / "module.js"
    module.write_text(
        f'import {{ Model }} from "{(BROWSER / "model.js").as_uri()}";\n'
        f'import {{ modelPicture, gridPicture }} from "{(BROWSER / "pictures.js").as_uri()}";\n'
        f'import {{ partsOf }} from "{(BROWSER / "parts.js").as_uri()}";\n'
        f'import {{ OF_HEAD }} from "{(BROWSER / "head_views.js").as_uri()}";\n'
        f'import {{ similarity }} from "{(BROWSER / "engine/similarity.js").as_uri()}";\n'
        f'import {{ classes, hiddenWord, largest, textVector }} from "{(BROWSER / "engine/heads.js").as_uri()}";\n'
        f'const bytes = (name) => Deno.readFileSync("{folder}/" + name + ".bin").buffer;\n'
        "const blocks = [];\n"
        "const block = (at) => { blocks.push(at); return Promise.resolve(bytes(at)); };\n"
        'const model = new Model(bytes("model"), block);\n'
        f'const given = JSON.parse(Deno.readTextFileSync("{folder}/given.json"));\n'
        "const list = (all) => Object.fromEntries(Object.entries(all).map(([name, one]) => [name, [...one.data]]));\n"
        f"export const found = {expression};\n",
        encoding="utf-8",
    )
    return evaluated(module, "found", "found", folder)


def of_page(expression: str, **given: Any) -> str:
    """An expression as JavaScript of a page whose server has the engine in browser/ and the files of `unpack`.

    It gives JSON: a browser hands over one text sooner than many numbers.
    """
    return (
        "(async () => { const { Model } = await import('/browser/model.js');"
        " const { textVector } = await import('/browser/engine/heads.js');"
        " const bytes = async (name) => (await fetch(`/${name}.bin`)).arrayBuffer();"
        " const model = new Model(await bytes('model'), bytes);"
        f" const given = {json.dumps(given)}; return JSON.stringify({expression}); }})()"
    )


#: What the engine gives for `given.texts`, in any browser.
FIFTY = (
    "await Promise.all(given.texts.map(async (text) => {"
    " const { tokens, trace } = await model.read(text, {}); const layer = trace.layers[2];"
    " return { ids: tokens.map(({ id }) => id), output: Array.from(trace.output), q: Array.from(layer.q),"
    " k: Array.from(layer.k), v: Array.from(layer.v), pattern: layer.pattern.map((one) => Array.from(one)),"
    " stream: Array.from(layer.afterAttention) }; }))"
)


def are_those_of_python(found: list[dict[str, Any]], name: str, given: list[str], most: float = CLOSE) -> None:
    """Whether FIFTY gave what the Python engine gives for the same texts."""
    model = encoder.load(name)
    for text, browser in zip(given, found, strict=True):
        trace = model.trace(text)
        n = trace.n_tokens
        assert browser["ids"] == list(model.tokenize(text).ids)
        close(browser["output"], trace.output, most)
        for part, ours in zip("qkv", trace.layer_qkv(2), strict=True):
            close(browser[part], ours.transpose(0, 1), most)
        close(browser["pattern"], trace.layer_attention(2), most)
        close(browser["stream"], trace.values["layers.2.after_attention"][:n], most)


@pytest.mark.slow("computes fifty texts in JavaScript; Chromium computes one in the fast tier")
@pytest.mark.parametrize("name", ["twin-pre", "twin-post"])
def test_fifty_texts_give_the_numbers_of_python(name: str, tmp_path: Path) -> None:
    are_those_of_python(in_browser(name, FIFTY, tmp_path, texts=texts(50)), name, texts(50))


def close(browser: Any, ours: torch.Tensor, most: float = CLOSE) -> None:
    expected = ours.detach().float().numpy().ravel()
    assert np.abs(np.asarray(browser, dtype=float).ravel() - expected).max() <= most * max(1.0, np.abs(expected).max())


def test_the_picture_of_the_model_has_the_arrays_of_python(tmp_path: Path) -> None:
    text, place = "The keys to the old cabinet are on the table.", {"layer": 1, "head": 2, "query": 3, "key": 5}
    found = in_browser(
        "twin-pre",
        "(({ tokens, trace }) => { const { header, arrays } = modelPicture(model, trace, tokens.map(({ label }) =>"
        " label), given.place, {}); return { header, arrays: list(arrays) }; })(await model.read(given.text, {}))",
        tmp_path,
        text=text,
        place=place,
    )
    model = encoder.load("twin-pre")
    picture = model_picture(model.trace(text), **place, pooling=model.pooling)
    assert set(found["arrays"]) == set(picture.arrays)
    for name, values in picture.arrays.items():
        tolerance = 1 if values.dtype == np.uint8 else CLOSE * max(1.0, float(np.abs(values).max()))
        assert np.abs(np.array(found["arrays"][name]) - values.ravel()).max() <= tolerance, name
    shared = set(picture.header) - {"model", "name", "input"}
    assert {name: found["header"][name] for name in shared} == {name: picture.header[name] for name in shared}


def test_a_long_text_has_the_window_of_python(tmp_path: Path) -> None:
    text, place = "The cat sat on the mat. " * 12, {"layer": 1, "head": 2, "query": 40, "key": 45}
    found = in_browser(
        "twin-pre",
        "(({ tokens, trace }) => { const { header, arrays } = modelPicture(model, trace, tokens.map(({ label }) =>"
        " label), given.place, {}); return { header, arrays: list(arrays) }; })(await model.read(given.text, {}))",
        tmp_path,
        text=text,
        place=place,
    )
    model = encoder.load("twin-pre")
    picture = model_picture(model.trace(text), **place, pooling=model.pooling)
    for name, values in picture.arrays.items():
        tolerance = 1 if values.dtype == np.uint8 else CLOSE * max(1.0, float(np.abs(values).max()))
        assert np.abs(np.array(found["arrays"][name]) - values.ravel()).max() <= tolerance, name
    shared = set(picture.header) - {"model", "name"}
    assert {name: found["header"][name] for name in shared} == {name: picture.header[name] for name in shared}


def test_switches_make_the_edits_of_python(tmp_path: Path) -> None:
    text = "She sat on the bank of the river."
    cases: list[tuple[dict[str, Any], list[Any]]] = [
        ({"causal": True}, [encoder.edits.CausalMask()]),
        ({"noPositions": True}, [encoder.edits.DropPositions()]),
        ({"heads": [[1, 2]]}, [encoder.edits.AblateHead(1, 2)]),
        ({"sublayers": [[0, "ffn"]]}, [encoder.edits.Zero("ffn_out", layer=0)]),
        ({"placement": "post"}, []),
    ]
    one = "async (edits) => Array.from((await model.read(given.text, edits)).trace.output)"
    found = in_browser(
        "twin-pre",
        f"await Promise.all(given.edits.map({one}))",
        tmp_path,
        text=text,
        edits=[edits for edits, _ in cases],
    )
    model = encoder.load("twin-pre")
    for output, (edits, ours) in zip(found, cases, strict=True):
        close(output, model.with_norm_placement(edits.get("placement", "pre")).trace(text, edits=ours).output)


def test_hidden_words_and_classes_have_the_probabilities_of_python(tmp_path: Path) -> None:
    text = "The cat sat on the [MASK]."
    found = in_browser(
        "twin-post",
        "(await model.words.needAll(), (({ tokens, trace }) => {"
        " const at = tokens.findIndex(({ label }) => label === '[MASK]');"
        " const shares = hiddenWord(model.encoder, model.about.mlm_head, trace, at);"
        " return largest(shares, 5).map((id) => [model.tokenizer.names[id], shares[id]]); })"
        "(await model.read(given.text, {})))",
        tmp_path,
        text=text,
    )
    model = encoder.load("twin-post")
    [expected] = model.predict_masked(model.trace(text), k=5)
    assert [name for name, _ in found] == list(expected.tokens)
    close([share for _, share in found], torch.tensor(expected.probabilities))


def test_a_drawn_digit_is_prepared_and_classified_as_in_python(tmp_path: Path) -> None:
    bitmap = np.zeros((32, 32), np.uint8)
    bitmap[5:27, 14:17] = 255
    bitmap[8, 10:15] = 255
    hexadecimal = np.packbits(bitmap > 0).tobytes().hex()
    expected = digits.encode(digits.as_digit(Image.fromarray(bitmap), dark_ink=False))
    script = BROWSER / "digit.js"
    drawn = evaluated(script, "digitOfBitmap", f'digitOfBitmap("{hexadecimal}")', tmp_path)
    assert drawn == expected
    model = encoder.load("digits-pre")
    found = in_browser(
        "digits-pre",
        "Array.from(classes(model.encoder, model.about.classifier, model.look(given.pixels, {}).trace))",
        tmp_path,
        pixels=digits.decode(expected).ravel().tolist(),
    )
    from encoder.classify import predict

    close(found, torch.tensor(predict(model, model.trace(digits.decode(expected))).probabilities))


def test_bytes_are_those_of_the_wire_format(tmp_path: Path) -> None:
    from encoder.drawing import wire

    arrays = {"a": np.arange(3, dtype=np.float32), "b": np.array([[1, 2]], np.uint8)}
    found = evaluated(
        BROWSER / "pack.js",
        "pack",
        'Array.from(pack({ "name": "é" }, { a: { data: new Float32Array([0, 1, 2]), shape: [3] },'
        " b: { data: new Uint8Array([1, 2]), shape: [1, 2] } }))",
        tmp_path,
    )
    ours = wire.pack({"name": "é"}, arrays)
    length = int.from_bytes(bytes(found[:4]), "little")
    header = json.loads(bytes(found[4 : 4 + length]))
    assert header["name"] == "é"
    assert header["arrays"] == json.loads(ours[4 : 4 + int.from_bytes(ours[:4], "little")])["arrays"]
    assert bytes(found[4 + length :])[:24] == ours[4 + int.from_bytes(ours[:4], "little") :][:24]


@pytest.mark.slow("computes a model in JavaScript")
def test_minilm_is_as_close_as_its_page_says(tmp_path: Path) -> None:
    """Three texts; docs/site.md has the figure of fifty."""
    some = [*texts(2), "The animal did not cross the street because it was too tired."]
    are_those_of_python(in_browser("minilm", FIFTY, tmp_path, texts=some), "minilm", some, ROUNDED)


def test_a_text_loads_the_word_vectors_that_it_needs_once(tmp_path: Path) -> None:
    text = "The cat sat on the mat."
    asked = in_browser(
        "twin-pre", "(await model.read(given.text), await model.read(given.text), blocks)", tmp_path, text=text
    )
    needed = {number // BLOCK for number in encoder.load("twin-pre").tokenize(text).ids}
    assert sorted(asked) == sorted(needed)
    everything = in_browser("twin-pre", "(await model.words.needAll(), blocks)", tmp_path)
    assert everything == list(range(len(everything)))
    assert len(everything) > len(needed)


def test_the_parts_have_the_vectors_of_python(tmp_path: Path) -> None:
    from encoder.explain.place import Place
    from encoder.views.model_parts import with_parts

    text, place = "The keys to the old cabinet are on the table.", {"layer": 1, "head": 2, "query": 3, "key": 5}
    found = in_browser(
        "twin-post",
        "(({ tokens, trace }) => { const { parts, arrays } = partsOf(model, trace, tokens, given.place,"
        " { component: 3, neuron: 7, classes: [] });"
        " return { parts, arrays: list(arrays) }; })(await model.read(given.text, {}))",
        tmp_path,
        text=text,
        place=place,
    )
    model = encoder.load("twin-post")
    trace = model.trace(text)
    picture = model_picture(trace, **place, pooling=model.pooling)
    ours = with_parts(picture, trace, Place(**place), part="q", component=3, neuron=7, pooling="mean", model=model)
    parts: Any = ours.header["parts"]
    assert list(found["parts"]) == list(parts)
    for key, part in parts.items():
        browser = found["parts"][key]
        assert browser["title"] == part["title"], key
        vectors = {strip["name"]: ours.arrays[strip["array"]] for strip in part["strips"]}
        for strip in browser["strips"]:
            close(found["arrays"][strip["array"]], torch.tensor(vectors[strip["name"]]))
        numbers = {(row[0], row[3]): row[1] for row in part["rows"]}
        for label, value, _, at, *_ in browser["rows"]:
            expected = numbers.get((label, at), value)
            assert abs(value - expected) <= CLOSE * max(1, abs(value)), (key, label)


@pytest.mark.parametrize("name", ["site", "worker", "helper"])
def test_a_joined_script_of_the_site_declares_each_name_once(name: str, tmp_path: Path) -> None:
    """All modules of a script share one scope: a name that two of them declare is an error of the whole script."""
    script, module = tmp_path / f"{name}.js", tmp_path / "module.js"
    script.write_text(joined(BROWSER / f"{name}.js"), encoding="utf-8")
    # Of functions, only a block in strict mode says so.
    block = f"'\"use strict\"; {{' + Deno.readTextFileSync({json.dumps(str(script))}) + '}}'"
    compiled = f"new Function({block})"
    module.write_text(f"export const found = {compiled}.length;\n", encoding="utf-8")
    assert evaluated(module, "found", "found", tmp_path) == 0


def test_the_kernel_multiplies_as_javascript_does(tmp_path: Path) -> None:
    """For sizes around its blocks, held matrices and others; the weights stay readable where the kernel keeps them."""
    (tmp_path / "module.js").write_text(
        f'import {{ block, Products }} from "{(BROWSER / "engine/products.js").as_uri()}";\n'
        "const numbers = (count, step) => Float32Array.from({ length: count }, (_, at) => Math.sin(at * step));\n"
        "const [compiled, plain] = [new Products(), new Products(null)];\n"
        "export const found = [[1, 1, 1], [3, 5, 7], [64, 16, 4], [65, 24, 10], [130, 40, 33]].map(([t, d, n]) => {\n"
        "  const [x, weight, bias] = [numbers(t * d, 1), numbers(n * d, 2), numbers(n, 3)];\n"
        "  const tensor = { data: weight, shape: [n, d] };\n"
        "  const [held, other] = [compiled.hold(tensor, bias), plain.hold({ data: weight, shape: [n, d] }, bias)];\n"
        "  const pairs = [[compiled.times(x, held), plain.times(x, other)],\n"
        "    [compiled, plain].map((one) => one.products([[block(x, t, d), block(weight, n, d)]])[0]),\n"
        "    [compiled, plain].map((one) => one.layerNorm(x, { gain: numbers(d, 4), bias: null, eps: 1e-5 })),\n"
        "    [tensor.data, weight]];\n"
        "  return pairs.map((pair) => pair.map((one) => Array.from(one)));\n"
        "});\n"
        "export const isCompiled = [compiled, plain].map(({ memory }) => Boolean(memory));\n",
        encoding="utf-8",
    )
    found, is_compiled = evaluated(tmp_path / "module.js", "found, isCompiled", "[found, isCompiled]", tmp_path)
    assert is_compiled == [True, False]
    for pairs in found:
        for ours, theirs in pairs:
            assert ours
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_activations_are_those_of_torch(tmp_path: Path) -> None:
    """Also where their tables begin and end."""
    x = np.concatenate([np.linspace(-9, 9, 777), [-100, -8, 8, 100, 1e-30]])
    given = json.dumps(x.tolist())
    found = evaluated(
        BROWSER / "engine/linear.js",
        "ACTIVATIONS",
        f"Object.entries(ACTIVATIONS).map(([name, of]) => [name, Array.from(of({given}))])",
        tmp_path,
    )
    for name, values in found:
        of = getattr(torch, name) if name in ("tanh", "sigmoid") else functools.partial(activation.activate, name=name)
        expected = of(torch.tensor(x))
        np.testing.assert_allclose(values, expected.numpy(), rtol=1e-7, atol=1e-8, err_msg=name)

"""Pages with an image in place of a sentence: the input, the gate of pages that need text, image attention."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

import encoder
from encoder.inputs.digits import decode, encode, examples
from encoder.inputs.image_files import MOST_BYTES
from pages.base.access import visitors
from pages.components.draw_digit import bitmap_of
from pages.components.patch_map import _event
from pages.core.words import token_names
from tests.conftest import ROOT
from tests.load.reference import image_model_of, vit_of, write
from tests.pages.apps import assert_well, sentences, visit, words, written

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

PAGES = sorted(path.parent.name for path in ROOT.glob("pages/*/page.py"))
#: The page of similarity splits the vectors at the output: along a path its default sentences take half a minute.
AT_OUTPUT = {"vectors": "6"}
DRAWN = encode(decode(examples()["7"])[:, ::-1])


def image_of(app: AppTest) -> str:
    found = app.query_params.get("image", "")
    return found if isinstance(found, str) else found[0]


@pytest.mark.parametrize("model", ["digits-pre", "digits-post"])
def test_every_page_opens_with_a_model_of_images(model: str):
    for page in PAGES:
        app = visit(page, model=model, closed=True, **AT_OUTPUT)
        assert not app.exception, page
        assert not app.error, (page, [box.value for box in app.error])


def test_a_page_that_needs_text_opens_with_a_model_of_text_and_the_chosen_one_returns():
    app = visit("heads", model="digits-pre", layer="1", head="3", image="8", closed=True, **AT_OUTPUT)
    app.switch_page("pages/probes/page.py").run()
    assert_well(app)
    assert app.selectbox(key="view:model").value == "minilm"
    [line] = [one.value.replace("\\", "") for one in app.caption if "swap_horiz" in one.value]
    assert "digits-pre" in line
    assert "all-MiniLM-L6-v2" in line
    assert "heads" in [link.proto.page for link in app.get("page_link")]  # the way back
    app.switch_page("pages/heads/page.py").run()
    assert_well(app)
    assert {name: app.query_params[name] for name in ("model", "layer", "head", "image")} == {
        "model": "digits-pre",
        "layer": "1",
        "head": "3",
        "image": "8",
    }
    assert not [one for one in app.caption if "swap_horiz" in one.value]


def test_a_model_chosen_in_place_of_the_stand_in_stays():
    app = visit("probes", model="digits-pre", closed=True, **AT_OUTPUT)
    app.selectbox(key="view:model").set_value("twin-post").run()
    app.switch_page("pages/heads/page.py").run()
    assert app.query_params["model"] == "twin-post"


def test_the_page_says_what_the_model_computes():
    app = visit("heads", model="digits-post", image="5", layer="2", head="1", i="6", closed=True)
    model = encoder.load("digits-post", device="cpu")
    trace = model.trace(decode(examples()["5"]))
    row = trace.attention(2, 1)[6]
    assert f"**r1 c1** attends most to {trace.labels[int(row.argmax())]} {float(row.max()):.3g}" in written(app)
    found = model.probabilities(trace)
    best = max(found, key=found.__getitem__)
    assert f"**{best} ({found[best]:.1%})**" in words(app)


def test_another_example_is_another_image():
    app = visit("heads", model="digits-pre", image="1", closed=True)
    app.selectbox(key="image-example:1").set_value("8").run()
    assert image_of(app) == "8"
    assert "**8 (" in words(app)
    assert_well(app)


def test_a_drawing_is_in_the_link_and_opens_from_it():
    app = visit("heads", model="digits-pre", image=DRAWN, closed=True)
    assert_well(app)
    assert image_of(app) == DRAWN
    lines = visit("heads", model="digits-pre", image=DRAWN)
    (code,) = [block.value for block in lines.code if "trace" in block.value]
    names: dict[str, object] = {}
    exec(code, names)
    assert names["rows"].shape == (4, 4, 17)
    assert np.array_equal(names["digits"].decode(DRAWN), decode(DRAWN))


@pytest.mark.parametrize("name", ["<script>", "file-0123", "z" * 64, "0" * 63, "../../etc/passwd"])
def test_a_link_with_an_image_that_does_not_exist(name: str):
    app = visit("heads", model="digits-pre", image=name, closed=True)
    assert_well(app)
    assert "**3 (" in words(app)


def test_both_encoders_of_digits_side_by_side():
    app = visit("pre_post", model="digits-post", image="4", closed=True)
    assert_well(app)
    assert "**digits-pre**" in written(app)
    assert "**digits-post**" in written(app)
    assert "images in the same order" in words(app)


def test_tokens_of_a_sentence_are_no_patches_of_an_image():
    app = visit("heads", closed=True, text="a b c d e f g h i j k l m n o p q r s t u v", i="20", layer="5", head="9")
    app.selectbox(key="view:model").set_value("digits-pre").run()
    assert_well(app)
    assert not app.warning
    assert app.number_input(key="view:layer").value == 0


def uploaded(app: AppTest, content: bytes, name: str = "photo.png") -> AppTest:
    app.selectbox(key="view:image_from").set_value("file").run()
    return app.file_uploader(key="image-file").set_value((name, content, "image/png")).run()


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def test_an_uploaded_digit_is_named_and_in_the_link():
    digit = Image.fromarray((255 - decode(examples()["2"]) * 255).astype(np.uint8)).resize((300, 300))
    app = uploaded(visit("heads", model="digits-pre", closed=True), png(digit))
    assert_well(app)
    assert len(image_of(app)) == 64
    assert "**2 (" in words(app)


@pytest.mark.parametrize("content", [b"", b"no image", bytes(MOST_BYTES + 1), png(Image.new("L", (9, 9)))], ids=len)
def test_a_broken_file_is_a_sentence(content: bytes):
    app = uploaded(visit("heads", model="digits-pre", closed=True), content)
    assert not app.exception
    assert len(app.error) == 1
    assert "**3 (" in words(app)


def test_a_photograph_in_a_model_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    folder = write(vit_of("ForImageClassification", 2, num_labels=3), tmp_path / "tiny-vit", None)
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": {"height": 24, "width": 24}}))
    app = visit("heads", model="other", source=str(folder), closed=True)
    assert_well(app)
    app = uploaded(app, png(Image.effect_mandelbrot((640, 480), (-3, -2.5, 2, 2.5), 20)))
    assert_well(app)
    name = image_of(app)
    assert name.startswith("file-")
    elsewhere = visit("heads", model="other", source=str(folder), image=name, closed=True)
    assert not elsewhere.error
    assert "link" in sentences(elsewhere)  # the file stays in the other session


def test_registers_and_outliers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert "no registers" in written(visit("norms", norm_part="others", model="digits-pre", closed=True))
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    folder = write(image_model_of("Dinov2WithRegisters", "Model", 2, num_register_tokens=3), tmp_path / "tiny", None)
    app = visit("heads", model="other", source=str(folder), over_image="occlusion", closed=True)
    assert_well(app)
    assert "image vector" in written(app)  # the model names no classes
    norms = visit("norms", model="other", source=str(folder), norm_part="others", closed=True)
    assert_well(norms)
    assert "no registers" not in written(norms)


def test_what_a_browser_may_send():
    assert bitmap_of({"bits": "0" * 256}) is None
    assert bitmap_of({"bits": "zz"}) is None
    assert bitmap_of(["bits"]) is None
    drawn = bitmap_of({"bits": "8" + "0" * 255})
    assert drawn is not None
    assert drawn[0, 0] == 255
    assert int(drawn.sum()) == 255
    assert _event({"event": "select", "row": 3, "column": 0}, 4, 4) == {"event": "select", "row": 3, "column": 0}
    for wrong in ({"event": "select", "row": 4, "column": 0}, {"event": "select", "row": "1", "column": 0}, None, {}):
        assert _event(wrong, 4, 4) is None


def test_a_few_of_many_special_tokens_are_named():
    tokens = ("[CLS]", *(f"[DET{index}]" for index in range(100)))
    assert token_names.some(tokens).replace("\\", "") == "[CLS], [DET0], …, [DET99]"
    assert token_names.some(tokens[:4]).count(",") == 3
    assert token_names.some(()) == ""

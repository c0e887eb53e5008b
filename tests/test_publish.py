"""`encoderscope publish`: links of the app as a folder of pages."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

import encoder
from encoder import EncoderError, export
from encoder.cli import main
from encoder.drawing import preview
from encoder.export.published import publish, read_view
from encoder.export.saved import page
from encoder.live.publish import EXAMPLES, publish_live
from encoder.views import stills
from tests.load import every_family
from tests.pages.apps import visit

EDITS = (encoder.edits.AblateHead(layer=0, head=2),)
EDIT = quote(encoder.edits.format(EDITS))
LINK = "http://school.example/model?text=The+cat+sat&model=twin-pre&layer=1&head=2&i=3"


def test_a_folder_has_a_page_for_each_view(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    heads = "heads?text=A+%3Cb%3E+dog&model=twin-pre&layer=3&head=1"
    views = [LINK, heads, f"{heads}&view=lines&norm=post", f"{heads}&view=text&edits={EDIT}"]
    assert main.main(["publish", *views, "--device", "cpu", "--out", str(tmp_path / "folder")]) == 0
    names = sorted(path.name for path in (tmp_path / "folder").glob("*.html"))
    assert names == ["01-model.html", "02-heads.html", "03-heads.html", "04-heads.html", "index.html"]
    assert "4 pages" in capsys.readouterr().out
    files = {name: (tmp_path / "folder" / name).read_text(encoding="utf-8") for name in names}
    index = files.pop("index.html")
    assert re.findall(r'href="(\d\d[^"]+)"', index) == list(files)
    assert "A &lt;b&gt; dog" in index
    for text in files.values():
        assert "default-src &#39;none&#39;" in text
        assert 'href="http://localhost:8501/' in text


def test_a_page_has_the_numbers_of_the_view(tmp_path: Path) -> None:
    publish([LINK, f"heads?text=a+cat&model=twin-pre&layer=3&head=1&edits={EDIT}"], tmp_path, "cpu")
    model = encoder.load("twin-pre", device="cpu")
    trace = model.trace("The cat sat")
    view = read_view(LINK)
    assert (tmp_path / "01-model.html").read_text(encoding="utf-8") == page(
        trace, 1, 2, 3, None, link=view.address, model=model.name
    )
    edited = model.trace("a cat", edits=EDITS)
    written = (tmp_path / "02-heads.html").read_text(encoding="utf-8")
    link = read_view(f"heads?text=a+cat&model=twin-pre&layer=3&head=1&edits={EDIT}").address
    assert written == page(export.map(edited, 3, 1), link=link)
    assert written != page(export.map(model.trace("a cat"), 3, 1), link=link)


def test_a_pair_is_published_with_its_map(tmp_path: Path) -> None:
    link = "similarity?text=A+cat&similar_to=A+%3Cb%3E+dog&model=twin-pre&norm=post"  # a former page
    publish([link], tmp_path, "cpu")
    model = encoder.load("twin-pre", device="cpu").with_norm_placement("post")
    found = encoder.explain_score(model, "A cat", "A <b> dog")
    written = (tmp_path / "01-texts.html").read_text(encoding="utf-8")
    assert f"{found.score:.4f}" in written
    assert "A &lt;b&gt; dog" in written
    assert 'href="http://localhost:8501/texts?' in written


def test_a_file_is_published_and_so_is_what_live_names_for_a_model_of_videos(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    case, frames = every_family.ALL["videomae"], np.random.default_rng(0).integers(0, 256, (9, 40, 40, 3), np.uint8)
    source = every_family.write(case, case.make(), tmp_path / "m & n")
    first, *more = map(Image.fromarray, frames)
    first.save(tmp_path / "clip.gif", save_all=True, append_images=more)
    first.save(tmp_path / "page.png")
    assert main.main(["publish", str(source), "--live", "--out", str(tmp_path / "live")]) == 1
    said = capsys.readouterr().err
    command = shlex.split(said[said.index("encoderscope publish") :].replace("FILE", str(tmp_path / "clip.gif")))
    digits = f"model?model=digits-pre&image={tmp_path / 'page.png'}&layer=1&head=2"
    assert main.main([*command[1:], digits]) == 0
    names = ("01-heads", "02-model")
    of_heads, of_model = ((tmp_path / "live" / f"{name}.html").read_text(encoding="utf-8") for name in names)
    model = encoder.load(source, device="cpu")
    assert ">clip.gif<" in (tmp_path / "live" / "index.html").read_text(encoding="utf-8")
    assert of_heads == page(export.map(model.trace(model.open(tmp_path / "clip.gif")), 0, 0))
    model = encoder.load("digits-pre", device="cpu")
    image = model.open(tmp_path / "page.png")
    assert of_model == page(model.trace(image), 1, 2, model=model.name, given=model.picture(image))
    assert "localhost:8501" not in of_heads + of_model, "a reader's app does not find the file"
    for link in (f"texts?model=digits-pre&image={tmp_path / 'page.png'}", "heads?model=minilm&tower=image&image=x"):
        with pytest.raises(EncoderError, match=r"model or heads|text="):
            publish([link], tmp_path / "none", "cpu")


def test_no_page_says_where_the_folder_of_a_model_lies(tmp_path: Path) -> None:
    own = encoder.save(encoder.load("twin-pre", device="cpu"), tmp_path / "of-the-publisher" / "mine")
    of_own = f"model=other&source={quote(str(own))}"
    views = [f"model?text=a+cat&{of_own}", f"texts?text=A+cat&similar_to=A+dog&{of_own}"]
    views += [f"heads?text=a+cat&{of_own}&view={one}" for one in ("map", "lines", "text")]
    pages = publish(views, tmp_path / "folder", "cpu", address="https://you.example/published")
    for one in pages:
        assert "of-the-publisher" not in html.unescape(one.read_text(encoding="utf-8"))
    assert preview_of(pages[1])["og:title"].endswith("mine")


@pytest.mark.slow("the same explanation through a link")
def test_a_long_pair_is_published_word_by_word_where_its_link_asks_for_it(tmp_path: Path) -> None:
    words = " ".join(f"lamp{number}" for number in range(70))
    link = f"texts?text=A+cat&similar_to={words.replace(' ', '+')}&model=minilm"
    publish([link, f"{link}&each_word=1"], tmp_path, "cpu")
    phrases, each = ((tmp_path / f"0{n}-texts.html").read_text(encoding="utf-8") for n in (1, 2))
    assert ("each_word=True" in phrases, "each_word=True" in each) == (False, True)
    assert (">lamp5<" in phrases, ">lamp5<" in each) == (False, True), "rows of words, not of phrases"


def test_the_link_of_a_page_opens_the_same_view_in_the_app() -> None:
    view = read_view(LINK)
    assert read_view(view.address) == view
    assert view.address.startswith("http://localhost:8501/?start=1&")
    values = visit(at_front=True, start="1", **view.values).session_state["_view"].values
    assert (values["text"], values["model"], values["layer"], values["head"], values["i"]) == (
        "The cat sat",
        "twin-pre",
        1,
        2,
        3,
    )


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("training?text=a", "model, heads, texts"),
        ("similarity?text=a&model=twin-pre", "similar_to"),
        ("texts?text=a&similar_to=b&each_word=2&model=twin-pre", "0 or 1"),
        ("heads?layer=2", "no text"),
        ("heads?text=a&model=twin-pre&layer=two", "whole number"),
        ("heads?text=a&model=twin-pre&layer=9", "9"),
        ("heads?text=a&model=twin-pre&i=999", "i=999"),
        ("model?text=a&model=twin-pre&j=999", "j=999"),
        ("heads?text=a&model=twin-pre&view=zzz", "map, lines, text"),
        ("heads?text=a&model=digits-pre", "text"),
        ("heads?text=a&model=dates-pre&stack=decoder", "leave stack=decoder out"),
        ("heads?image=a.png&model=other&source=minilm", "accepts text, not image"),
    ],
)
def test_what_cannot_be_published_is_said(link: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=said):
        publish([link], tmp_path / "folder", "cpu")
    assert not (tmp_path / "folder").exists()


def test_at_the_root_a_link_shows_heads_as_in_the_app() -> None:
    assert read_view("http://localhost:8501/?text=a&layer=1").page == "heads"
    assert read_view("http://localhost:8501/?start=1&text=a").page == "model"
    assert json.dumps(read_view("/x/heads?text=a").values) == '{"text": "a"}'


def preview_of(file: Path) -> dict[str, str]:
    """What a page says of itself to programs that show links."""
    tags = re.findall(r'<meta property="([^"]+)" content="([^"]*)">', file.read_text(encoding="utf-8"))
    return {name: html.unescape(content) for name, content in tags}


def test_other_programs_show_a_picture_of_each_view(tmp_path: Path) -> None:
    """Their addresses are whole; the picture of a head has the pixels of its weights."""
    pair = "texts?text=A+cat&similar_to=A+dog&model=twin-pre"
    views = [LINK, "heads?text=A+%3Cb%3E+dog&model=twin-pre&layer=3&head=1", pair]
    first, *pages = publish(views, tmp_path, "cpu", address="https://you.example/published")
    images = []
    for one in pages:
        said = preview_of(one)
        assert said["og:url"] == f"https://you.example/published/{one.name}"
        assert said["og:image"] == f"https://you.example/published/{one.stem}.png"
        with Image.open(one.with_suffix(".png")) as image:
            assert image.size == preview.SIZE == (int(said["og:image:width"]), int(said["og:image:height"]))
            images.append(image.tobytes())
    assert len(set(images)) == 3
    assert preview_of(pages[1])["og:description"] == "A <b> dog"
    assert preview_of(first)["og:image"] == preview_of(pages[0])["og:image"]
    publish(views[:1], tmp_path / "without", "cpu")
    assert not preview_of(tmp_path / "without" / "index.html")
    for wrong in ("you.example", "ftp://you.example", "https://you.example/?a=1", "https://"):
        with pytest.raises(EncoderError, match="address"):
            publish(views[:1], tmp_path / "without", "cpu", address=wrong)


def test_other_programs_show_the_heads_of_a_live_model(tmp_path: Path) -> None:
    publish_live("twin-pre", tmp_path, bits=8, device="cpu", address="https://you.example/live/")
    for folder in ("", "heads/"):
        said = preview_of(tmp_path / folder / "index.html")
        assert said["og:url"] == f"https://you.example/live/{folder}"
        assert said["og:image"] == "https://you.example/live/preview.png"
    trace = encoder.load("twin-pre", device="cpu").trace(EXAMPLES[0])
    drawn = preview.image(stills.of_all_heads(trace, "twin-pre"))
    assert (tmp_path / "preview.png").read_bytes() == drawn

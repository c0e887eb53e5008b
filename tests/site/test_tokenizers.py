"""The tokenizers of the browser give the ids of the library, for texts that are hard to split."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from tokenizers import normalizers, pre_tokenizers

import encoder.live
from encoder.inputs.tokenizer import Tokenizer
from encoder.live.tokenizer import described
from tests.run_javascript import evaluated
from tests.site.odd_texts import odd_texts, precompiled, tokenizers
from tests.site.test_engine import texts
from tests.site.unicode_tables import characters

SCRIPT = Path(encoder.live.__file__).parent / "browser/engine/tokenizer.js"


def in_browser(tokenizer: Tokenizer, given: list[str], folder: Path) -> list[list[int]]:
    """The ids of each text."""
    about = {"tokenizer": described(tokenizer, "a model"), "texts": given}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    found = evaluated(
        SCRIPT,
        "Tokenizer",
        "((about) => { const made = new Tokenizer(about.tokenizer); return about.texts.map((text) =>"
        " made.tokens(text, 512).map(({ id }) => id)); })"
        f"(JSON.parse(Deno.readTextFileSync('{folder}/about.json')))",
        folder,
    )
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("count", [pytest.param(150), pytest.param(2000, marks=pytest.mark.slow("2,000 texts"))])
@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram", "precompiled"])
def test_odd_texts_have_the_ids_of_the_library(kind: str, count: int, tmp_path: Path) -> None:
    tokenizer, given = tokenizers(texts(60))[kind], odd_texts(count)
    for text, ids in zip(given, in_browser(tokenizer, given, tmp_path), strict=True):
        assert ids == list(tokenizer.encode(text, None, 512).ids), repr(text)


def test_the_table_of_the_tests_is_one_for_the_library() -> None:
    replace = precompiled({"ﬁ": "fi", "e\u0301": "é", "\u200b": ""}).normalize_str
    assert [replace(text) for text in ("ﬁn", "e\u0301te", "a\u200bb", "e")] == ["fin", "éte", "ab", "e"]


@pytest.mark.slow("every character of Unicode")
def test_every_character_is_changed_and_split_as_by_the_library(tmp_path: Path) -> None:
    every = characters()
    names = ("BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip")
    steps = {name: getattr(normalizers, name)() for name in names}
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    described_steps = [json.loads(one.__getstate__()) for one in steps.values()]
    (tmp_path / "every.json").write_text(json.dumps([every, described_steps]), encoding="utf-8")
    module = tmp_path / "module.js"
    module.write_text(
        f'import {{ normaliser }} from "{(SCRIPT.parent / "normalising.js").as_uri()}";\n'
        f'import {{ splitter }} from "{(SCRIPT.parent / "splitting.js").as_uri()}";\n'
        f'const [every, steps] = JSON.parse(Deno.readTextFileSync("{tmp_path}/every.json"));\n'
        'const split = splitter({ type: "BertPreTokenizer" });\n'
        "export const found = [...steps.map((about) => { const step = normaliser(about);"
        " return every.map((one) => step(`x${one}y`)); }),"
        " every.map((one) => split(`x${one}y`).map(({ text }) => text).join(' '))];\n",
        encoding="utf-8",
    )
    *changed, parts = evaluated(module, "found", "found", tmp_path)
    known = [one for one in every if unicodedata.category(one) != "Cn"]  # capital letters are newer in the library
    for (name, step), browser in zip(steps.items(), changed, strict=True):
        ours = dict(zip(every, browser, strict=True))
        assert [one for one in known if ours[one] != step.normalize_str(f"x{one}y")] == [], name
    ours = dict(zip(every, parts, strict=True))
    assert [one for one in known if ours[one] != " ".join(part for part, _ in split(f"x{one}y"))] == []

"""`python -m tests.site.unicode_tables` writes engine/unicode.js: characters that are something else in a browser than
in the library `tokenizers`, whose tables are of an older Unicode.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tokenizers import normalizers, pre_tokenizers

import encoder.live
from tests.run_javascript import evaluated

ENGINE = Path(encoder.live.__file__).parent / "browser/engine"
FILE = ENGINE / "unicode.js"
#: What a browser says of a character -> the expression in JavaScript; `c` is the character.
BROWSER = {
    "mark": "/\\p{Mn}/u.test(c)",
    "combining": "/\\p{M}/u.test(c)",
    "control": "/[\\p{Cc}\\p{Cf}\\p{Co}]/u.test(c)",
    "punctuation": "/\\p{P}/u.test(c)",
    "NFD": "c.normalize('NFD') !== c",
    "NFKD": "c.normalize('NFKD') !== c",
}
ABOUT = {
    "mark": "nonspacing marks",
    "combining": "marks",
    "control": "control characters",
    "punctuation": "punctuation",
    "NFD": "characters with parts",
    "NFKD": "characters with compatible parts",
}
#: Single surrogates, and characters for private use.
NO_CHARACTER = {*range(0xD800, 0xF900)}
HEAD = (
    "// Characters that are something else in a browser than in the library `tokenizers`, whose tables are of an\n"
    "// older Unicode. Written by `python -m tests.site.unicode_tables`.\n\n"
)


def characters() -> list[str]:
    """Every character of the planes that have assigned ones."""
    return [chr(code) for code in (*range(1, 0x30000), *range(0xE0000, 0xE0200)) if code not in NO_CHARACTER]


def of_library(every: Iterable[str]) -> dict[str, set[str]]:
    """What the library says of each character, under the names of BROWSER."""
    flags = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    bert, split = normalizers.BertNormalizer, pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    removed = {
        "mark": bert(**flags | {"strip_accents": True}),
        "combining": normalizers.StripAccents(),
        "control": bert(**flags | {"clean_text": True}),
    }
    found = {name: {one for one in every if step.normalize_str(f"x{one}y") == "xy"} for name, step in removed.items()}
    found["control"] |= {"\t", "\n", "\r"}  # spaces for BERT
    found["punctuation"] = {one for one in every if len(split(f"x{one}y")) == 3}
    for name, step in (("NFD", normalizers.NFD()), ("NFKD", normalizers.NFKD())):
        found[name] = {one for one in every if step.normalize_str(one) != one}
    return found


def of_browser(every: list[str], folder: Path) -> dict[str, set[str]]:
    """The same of the engine that runs JavaScript in tests."""
    (folder / "all.json").write_text(json.dumps(every), encoding="utf-8")
    says = ", ".join(f"{name}: (c) => {expression}" for name, expression in BROWSER.items())
    found = evaluated(
        ENGINE / "linear.js",
        "norm",
        f"((every, says) => Object.fromEntries(Object.entries(says).map(([name, is]) => [name, every.filter(is)])))"
        f"(JSON.parse(Deno.readTextFileSync('{folder}/all.json')), {{ {says} }})",
        folder,
    )
    return {name: set(ones) for name, ones in found.items()}


def written() -> str:
    """The file's text."""
    every = characters()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = of_library(every), of_browser(every, Path(folder))
    ours["punctuation"] |= {one for one in every if one.isascii() and one in theirs["punctuation"]}
    ours["punctuation"] -= {one for one in every if one.isascii() and one not in theirs["punctuation"]}
    ours["mark"] |= {one for one in theirs["mark"] if one in ours["NFD"] & theirs["NFD"]}  # never there when asked
    ours["mark"] -= {one for one in ours["mark"] - theirs["mark"] if one in ours["NFD"]}
    lines = "".join(
        f"  // {ABOUT[name]}\n  {name}:\n    /[{_ranges(ours[name] ^ theirs[name])}]/u,\n" for name in BROWSER
    )
    return f"{HEAD}export const CHANGED = {{\n{lines}}};\n"


def _ranges(ones: set[str]) -> str:
    found: list[list[int]] = []
    for code in sorted(map(ord, ones)):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    name = "\\u{{{:X}}}".format
    return "".join(name(first) + (f"-{name(last)}" if last > first else "") for first, last in found)


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")

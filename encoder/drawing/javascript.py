"""JavaScript for a browser that cannot import files: several modules joined into one text."""

import hashlib
import re
from pathlib import Path

#: Where modules lie that the app and reports share.
SHARED = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]*\.js)";\n', re.MULTILINE)
#: What only readers of the source need: indentation, and lines that hold nothing, a comment or a type.
LAYOUT = re.compile(r"^\s*(?:(?://.*|/\*\*(?:(?!\*/)[\s\S])*\*/)\n\s*)+|^\s+", re.MULTILINE)


def name_of(stem: str, content: bytes, suffix: str = ".js") -> str:
    """A name that says the content of a file, so that a browser fetches it once."""
    return f"{stem}-{hashlib.blake2b(content, digest_size=8).hexdigest()}{suffix}"


def joined(script: Path) -> str:
    """A module and all that it imports, each once and before its first use.

    An import is found by its path, or by its file's name in `SHARED`. All modules share a scope, so no two of
    them use the same name at top level. `export default` stays. Raises OSError if one is missing.
    """
    found: dict[Path, str] = {}
    _collect(script, found)
    return "\n".join(found.values())


def _collect(script: Path, found: dict[Path, str]) -> None:
    if script.resolve() in found:
        return
    source = script.read_text(encoding="utf-8")
    for name in IMPORT.findall(source):
        beside = script.parent / name
        _collect(beside if beside.is_file() else SHARED / beside.name, found)
    plain = re.sub(r"^export (?!default)", "", IMPORT.sub("", source), flags=re.MULTILINE)
    found[script.resolve()] = LAYOUT.sub("", plain)

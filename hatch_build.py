"""README for a package index: its links, relative in a copy of the project, begin with the repository's address."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: A target of a link or of a picture that is neither an address nor a place in the text.
TARGET = re.compile(r'(\]\(|(?:src|srcset)=")(?!https?:|mailto:|#)([^)"\s]+)')


def absolute(text: str, home: str) -> str:
    """home: the address of the repository. A picture is read as a file, all else as a page."""

    def target(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("s") else "blob"
        return f"{found[1]}{home}/{kind}/main/{found[2]}"

    return TARGET.sub(target, text)


class Readme(MetadataHookInterface):
    """Called when a wheel or an sdist is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`, which pyproject.toml names as dynamic."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, metadata["urls"]["Homepage"]),
        }

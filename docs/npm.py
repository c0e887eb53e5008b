"""`python -m docs.npm [FOLDER]` writes the drawings as a package for npm, by default in `build/npm`.

Every file is made of the files that the app, reports and published pages use: nothing is copied by hand.
"""

import argparse
import json
import sys
from pathlib import Path

from encoder import disk
from encoder.drawing.javascript import joined
from encoder.drawing.picture import style
from encoder.figures.colours import thumbnails_lut
from encoder.live.site import HERE as BROWSER
from encoder.version import __version__

ROOT = Path(__file__).resolve().parent.parent
#: The package's name, and what the disk calls its list of files.
NAME, KIND = "encoderscope-drawings", "an npm package of this program"
#: What a page imports.
EXPORTED = ("drawHeads",)


def files() -> dict[str, str]:
    """Name -> content of each file of the package."""
    colours = json.dumps(thumbnails_lut().ravel().tolist(), separators=(",", ":"))
    script = joined(BROWSER / "components.js").replace("from(COLOURS)", f"from({colours})")
    return {
        "package.json": json.dumps(_about(), indent=2) + "\n",
        "index.js": f"{script}\nexport {{ {', '.join(EXPORTED)} }};\n",
        "index.d.ts": (BROWSER / "components.d.ts").read_text(encoding="utf-8"),
        "style.css": style(),
        "README.md": (ROOT / "docs" / "components.md").read_text(encoding="utf-8"),
        "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }


def _about() -> dict[str, object]:
    return {
        "name": NAME,
        "version": __version__,
        "description": "Attention of every head of an encoder, drawn in a page",
        "license": "MIT",
        "type": "module",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}, "./style.css": "./style.css"},
        "types": "./index.d.ts",
        "sideEffects": ["./style.css"],
        "files": ["index.js", "index.d.ts", "style.css"],
        "keywords": ["attention", "transformer", "encoder", "bert", "visualization"],
    }


def write_package(folder: Path) -> None:
    """Write the package. Raises SaveError if the folder cannot be written or has other files."""
    with disk.whole_folder(folder, KIND) as place:
        for name, content in files().items():
            disk.write_file(place / name, content)


def main() -> None:
    """Write the package."""
    parser = argparse.ArgumentParser(prog="python -m docs.npm", description="Write the drawings as a package for npm.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/npm"), help="by default build/npm")
    folder = parser.parse_args().folder
    write_package(folder)
    sys.stdout.write(f"{folder}: `npm pack {folder}` makes an archive of it, `npm install {folder}` installs it.\n")


if __name__ == "__main__":
    main()

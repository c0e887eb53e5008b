"""Folders below a root folder, and no others: for names from a file or from a visitor."""

from pathlib import Path, PurePosixPath, PureWindowsPath

from encoder.errors import LoadError, quoted

#: Files of attention maps, which are opened as a checkpoint's folder is.
MAPS_ENDINGS = (".safetensors", ".parquet")


def inside(root: str | Path, name: str) -> Path:
    """The folder `name` below `root`, resolved; "" is the root itself.

    A server uses it for visitors who choose among an operator's folders. Raises LoadError for a name that leads out of
    the root (absolute, with "..", or a link), that is hidden, or that is neither a folder there nor a file of maps.
    """
    home = Path(root).expanduser().resolve()
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    plain = not (posix.is_absolute() or windows.is_absolute() or windows.drive or windows.root or "\0" in name)
    if not plain or ".." in posix.parts or ".." in windows.parts:
        raise LoadError(f"{quoted(name)} leads out of the folder {home.name}: specify the name of a folder in it.")
    if any(part.startswith(".") for part in posix.parts):
        raise LoadError(f"{quoted(name)} is a hidden folder: specify the name of another folder in {home.name}.")
    try:
        found = (home / name).resolve()
        is_there = found.is_dir() or (found.is_file() and found.suffix in MAPS_ENDINGS)
    except (OSError, ValueError, RuntimeError):  # too long, not encodable, or a circle of links
        raise LoadError(f"No folder {quoted(name)} in {home.name}: check the name.") from None
    if found != home and home not in found.parents:
        raise LoadError(
            f"{quoted(name)} is a link that leads out of the folder {home.name}: specify the name of a folder in it."
        )
    if not is_there:
        raise LoadError(f"No folder {quoted(name)} in {home.name}: check the name.")
    return found

"""The content of an image file or a sound file from anywhere, of a bounded size."""

from pathlib import Path

from encoder.errors import EncoderError


def content(
    file: bytes | str | Path, name: str, *, most: int, kind: str, refused: type[EncoderError]
) -> tuple[bytes, str]:
    """(content, name) of a regular file, or of its content with a given name.

    most: bytes; kind: "image" or "sound", for the sentences. Raises `refused` for a file that is missing, unreadable,
    empty or too large.
    """
    if not isinstance(file, bytes | str | Path):
        raise refused(f"{type(file).__name__} is no {kind} file: specify a path, or the bytes of the file.")
    if not isinstance(file, bytes):
        path = Path(file)
        file, name = _read(path, most, kind, refused), path.name
    if not file:
        raise refused(f"{name} is empty: choose another {kind}.")
    if len(file) > most:
        raise refused(f"{name} has more than {most / 1e6:,.0f} MB, which is the limit: choose a smaller {kind}.")
    return file, name


def _read(path: Path, most: int, kind: str, refused: type[EncoderError]) -> bytes:
    try:
        if path.is_file():
            with path.open("rb") as opened:
                return opened.read(most + 1)
    except (OSError, ValueError) as error:
        raise refused(f"{path.name} cannot be read ({error}): choose another {kind}.") from None
    raise refused(f"No file {path.name}: check the path of your {kind}.")

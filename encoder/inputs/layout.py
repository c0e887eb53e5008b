"""Layout: what the tokens of an image or of a sound are. Of a text, `Trace.source` says it instead.

An encoder that accepts no text has a `layout`, and gives it to each Trace. A new kind of input is one more frozen class
with the members of `Layout`; pages ask `trace.kind` and `model.takes`, never for a class.

Shapes: T tokens.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from encoder.errors import EncoderError

#: What an encoder accepts; "maps" and "cross": files of attention maps and of cross-attention maps take nothing.
InputKind = Literal["text", "image", "sound", "maps", "cross"]


class Layout(Protocol):
    """The T tokens of an input that is not text. before: names of the special tokens, which come first ("[CLS]")."""

    @property
    def kind(self) -> InputKind: ...

    @property
    def before(self) -> tuple[str, ...]: ...

    @property
    def tokens(self) -> tuple[str, ...]:
        """[T]: the special tokens, then a name for each part of the input."""
        ...


@dataclass(frozen=True)
class PatchGrid:
    """An image as rows x columns patches, row by row from the top left. patch_size: side of a patch in pixels."""

    rows: int
    columns: int
    patch_size: int
    before: tuple[str, ...] = ("[CLS]",)
    kind: ClassVar[InputKind] = "image"

    @property
    def tokens(self) -> tuple[str, ...]:
        """[T]: the special tokens, then "r3 c5" for the patch in row 3 and column 5, counted from 0."""
        return (*self.before, *(f"r{row} c{column}" for row in range(self.rows) for column in range(self.columns)))

    def token(self, row: int, column: int) -> int:
        """The token of a patch. Raises EncoderError for a patch that does not exist."""
        if not (0 <= row < self.rows and 0 <= column < self.columns):
            raise EncoderError(
                f"No patch in row {row}, column {column}: choose 0 to {self.rows - 1}, 0 to {self.columns - 1}."
            )
        return len(self.before) + row * self.columns + column

    def place(self, token: int) -> tuple[int, int] | None:
        """(row, column) of a token's patch; None for a special token."""
        index = token - len(self.before)
        return divmod(index, self.columns) if 0 <= index < self.rows * self.columns else None

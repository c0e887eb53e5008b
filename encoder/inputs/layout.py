"""Layout: what the tokens of an image or of a sound are. Of a text, `Trace.source` says it instead.

An encoder that accepts no text has a `layout`, and gives it to each Trace. A new kind of input is one more frozen class
with the members of `Layout`; pages ask `trace.kind` and `model.takes`, never for a class.

Shapes: T tokens.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from encoder.errors import EncoderError

#: What an encoder accepts; "maps" and "cross": files of attention maps and of cross-attention maps take nothing.
InputKind = Literal["text", "image", "video", "sound", "maps", "cross"]


class Layout(Protocol):
    """The T tokens of an input that is not text. before: names of the special tokens that come first ("[CLS]")."""

    @property
    def kind(self) -> InputKind: ...

    @property
    def before(self) -> tuple[str, ...]: ...

    @property
    def special(self) -> tuple[bool, ...]:
        """[T]: whether a token is the model's own and not a part of the input."""
        ...

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

    @property
    def special(self) -> tuple[bool, ...]:
        """[T]: True for the tokens before the patches."""
        return (*(True for _ in self.before), *(False for _ in self.patches))

    @property
    def patches(self) -> tuple[int, ...]:
        """[R x C]: the tokens of the patches, row by row from the top left."""
        return tuple(range(len(self.before), len(self.before) + self.rows * self.columns))

    @property
    def names_of_patches(self) -> tuple[str, ...]:
        """[R x C]: the names of the patches, in the order of `patches`."""
        tokens = self.tokens
        return tuple(tokens[token] for token in self.patches)

    @property
    def tile(self) -> int:
        """Patches of a side of each picture, where the patches are of several, side by side; 0: of one."""
        return 0

    @property
    def coordinates(self) -> tuple[tuple[int, ...], ...]:
        """[R x C]: row and column of each patch, in the order of `patches`; of a video time step, row and column."""
        return tuple(divmod(place, self.columns) for place in range(self.rows * self.columns))

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


@dataclass(frozen=True)
class PageGrid(PatchGrid):
    """A page in tiles of `side` x `side` patches, tile by tile, then the whole page once more as one such tile.

    A page of one tile has only that one. Words of the prompt stand between and around them. names: the T tokens;
    firsts: the first token of each tile, row by row, and then of the whole page.
    """

    before: tuple[str, ...] = ()
    side: int = 1
    names: tuple[str, ...] = ()
    firsts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        square, n_tokens = self.side**2, len(self.names)
        whole = self.side >= 1 and not (self.rows % self.side or self.columns % self.side)
        n_tiles = self.rows * self.columns // square if whole else 0
        if len(self.firsts) not in (n_tiles, n_tiles + 1) or not n_tiles:
            raise EncoderError(
                f"{len(self.firsts)} tiles do not fit {self.rows} x {self.columns} patches in tiles of {self.side} x "
                f"{self.side}: correct the layout of this page."
            )
        if not all(0 <= first <= n_tokens - square for first in self.firsts):
            raise EncoderError(f"A tile ends after the {n_tokens} tokens: correct the layout of this page.")

    @property
    def tokens(self) -> tuple[str, ...]:
        """[T]: words of the prompt, "r3 c5" for a patch of the page, "page r1 c2" for one of the whole page."""
        return self.names

    @property
    def special(self) -> tuple[bool, ...]:
        """[T]: True for words of the prompt."""
        parts = {first + place for first in self.firsts for place in range(self.side**2)}
        return tuple(token not in parts for token in range(len(self.names)))

    @cached_property
    def patches(self) -> tuple[int, ...]:
        """[R x C]: the tokens of the patches of all tiles, row by row over the page."""
        across = self.columns // self.side
        return tuple(
            self.firsts[row // self.side * across + column // self.side]
            + row % self.side * self.side
            + column % self.side
            for row in range(self.rows)
            for column in range(self.columns)
        )

    def token(self, row: int, column: int) -> int:
        """The token of a patch of the page. Raises EncoderError for a patch that does not exist."""
        return self.patches[super().token(row, column)]

    def place(self, token: int) -> tuple[int, int] | None:
        """(row, column) of the token of a tile; None for a word of the prompt, and for a token of the whole page."""
        return divmod(self.patches.index(token), self.columns) if token in self.patches else None

    @property
    def whole(self) -> tuple[int, ...]:
        """[side x side]: the tokens of the whole page in one tile; () for a page of one tile."""
        n_tiles = self.rows * self.columns // self.side**2
        return tuple(range(self.firsts[-1], self.firsts[-1] + self.side**2)) if len(self.firsts) > n_tiles else ()


@dataclass(frozen=True)
class TubeletGrid(PageGrid):
    """A video as a sheet with one tile for each time step, row by row. A tile's patches are the step's tubelets.

    rows, columns: of the sheet; names: "f0-1 r3 c5" for the patch in row 3 and column 5 of the frames 0 and 1.
    """

    kind: ClassVar[InputKind] = "video"

    @classmethod
    def of(cls, steps: int, side: int, patch_size: int, tubelet: int) -> "TubeletGrid":
        """The sheet of `steps` time steps of `tubelet` frames each, with side x side patches; no wider than needed."""
        across = min(one for one in range(1, steps + 1) if steps % one == 0 and one * one >= steps)
        firsts = range(0, steps * tubelet, tubelet)
        times = [f"f{first}" if tubelet == 1 else f"f{first}-{first + tubelet - 1}" for first in firsts]
        names = tuple(f"{time} r{row} c{column}" for time in times for row in range(side) for column in range(side))
        return cls(
            steps // across * side,
            across * side,
            patch_size,
            side=side,
            names=names,
            firsts=tuple(range(0, len(names), side**2)),
        )

    @property
    def tile(self) -> int:
        """Patches of a side of a frame."""
        return self.side

    @property
    def coordinates(self) -> tuple[tuple[int, ...], ...]:
        """[R x C]: time step, row and column of each tubelet, in the order of `patches`."""
        square = self.side**2
        return tuple((token // square, *divmod(token % square, self.side)) for token in self.patches)

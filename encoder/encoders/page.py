"""PageEncoder: an encoder of texts that reads the image of a page (ModernVBERT). A JointEncoder has it as a tower.

A page is scaled to whole tiles. An encoder of images makes vectors of the patches of each tile, and of the whole page
in one more tile; each square of `merged` x `merged` of these vectors becomes one token. These tokens stand among the
words of a prompt, and the layers of the encoder of texts run over all of them.

Shapes: C channels, S side of a tile in pixels, N tiles, P patches of a tile, V width of their vectors, s x s tokens of
a tile, T tokens of the page, words of the prompt included, E width of the table of words, D d_model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import torch
from torch import Tensor, nn

from encoder.edits import Edit
from encoder.encoders.image import ImageEncoder, Preparation, scaled_to
from encoder.errors import EncoderError
from encoder.inputs import image_files
from encoder.inputs.image_files import ImageError
from encoder.inputs.layout import PageGrid
from encoder.inputs.text import Tokenized
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import Patches
from encoder.model.device import explain_out_of_memory
from encoder.model.pooling import LateConfig
from encoder.trace.trace import Trace

#: The longest side of a scaled page in pixels, as in Idefics3.
LONGEST_SIDE = 4_096
#: The tokens of the tokenizer: one patch, the start and the end of an image, and the page in one tile.
IMAGE, AROUND, WHOLE = "<image>", "<fake_token_around_image>", "<global-img>"


@dataclass(frozen=True)
class PagePreparation(Preparation):
    """How a page becomes tiles. tile: S; longest: its longer side before it is scaled to whole tiles, None: as it is;
    splits: whether there are tiles, and not the whole page only. The other fields are those of `Preparation`."""

    tile: int = 512
    longest: int | None = 2_048
    splits: bool = True


def sides_of(height: int, width: int, how: PagePreparation) -> list[tuple[int, int]]:
    """(height, width) that a page is scaled to, one after another, as Idefics3 does."""
    found = []
    if how.longest is not None:
        height, width = _longest_side(height, width, how.longest)
        height, width = _at_most(height, width, LONGEST_SIDE)
        found.append((height, width))
    if not how.splits:
        return [*found, (how.tile, how.tile)]
    ratio = width / height
    if width >= height:
        width = ceil(width / how.tile) * how.tile
        height = ceil(int(width / ratio) / how.tile) * how.tile
    else:
        height = ceil(height / how.tile) * how.tile
        width = ceil(int(height * ratio) / how.tile) * how.tile
    return [*found, (max(height, how.tile), max(width, how.tile))]


def _longest_side(height: int, width: int, longest: int) -> tuple[int, int]:
    """The longer side gets this length; the other one is even."""
    ratio = width / height
    if width >= height:
        width, height = longest, int(longest / ratio)
        height += height % 2
    else:
        height, width = longest, int(longest * ratio)
        width += width % 2
    return max(height, 1), max(width, 1)


def _at_most(height: int, width: int, longest: int) -> tuple[int, int]:
    ratio = width / height
    if width >= height and width > longest:
        width, height = longest, int(longest / ratio)
    elif height > width and height > longest:
        height, width = longest, int(longest * ratio)
    return max(height, 1), max(width, 1)


def merged_squares(x: Tensor, factor: int) -> Tensor:
    """Vectors of a square of patches [N, P, V] -> [N, P / factor^2, V factor^2]: those of each factor x factor
    patches behind one another, row by row (Shi et al. 2016, the pixel shuffle of Idefics3)."""
    side = round(x.shape[1] ** 0.5)
    squares = x.reshape(len(x), side // factor, factor, side // factor, factor, -1)  # [N, r, y, c, x, V]
    return squares.transpose(2, 3).flatten(1, 2).flatten(2)


@dataclass(frozen=True, eq=False, repr=False)
class PageEncoder(ImageEncoder):
    """An encoder of pages, ready to trace them.

    `encoder` has the layers of the encoder of texts, and shares their weights; its input is vectors of tokens.
    """

    preparation: PagePreparation = PagePreparation()
    #: The encoder of tiles.
    vision: ImageEncoder = field(kw_only=True)
    #: The linear map of merged patches, [V factor^2] -> [E].
    connector: nn.Linear = field(kw_only=True)
    #: The table of words of the encoder of texts.
    words: nn.Embedding = field(kw_only=True)
    #: What splits the prompt into tokens.
    tokenizer: Tokenizer = field(kw_only=True)
    #: The words around a page, with one IMAGE in its place.
    prompt: str = field(default=IMAGE, kw_only=True)
    #: factor: so many patches are merged along each side.
    merged: int = field(default=4, kw_only=True)
    #: ColBERT's vectors, as of TextEncoder; None: the mean of all tokens.
    late: LateConfig | None = field(default=None, kw_only=True)
    #: The linear maps that make these of the vectors of tokens.
    token_dense: tuple[nn.Module, ...] = field(default=(), kw_only=True)

    def _inputs(self) -> str:
        return f"pages in tiles of {self.side} x {self.side} pixels"

    @property
    def heads(self) -> dict[str, nn.Module]:
        """As of every encoder, with the encoder of tiles, `connector`, `words` and `token_dense`."""
        found = super().heads | {"vision": self.vision.encoder, "connector": self.connector, "words": self.words}
        return found | {f"token_dense.{index}": dense for index, dense in enumerate(self.token_dense)}

    @property
    def patches(self) -> Patches:
        """Sizes of a tile and of its patches."""
        return self.vision.patches

    @property
    def side(self) -> int:
        """S: the side of a tile in pixels."""
        return self.preparation.tile

    @property
    def tokens_per_side(self) -> int:
        """s: tokens along a side of a tile."""
        return self.patches.side // self.merged

    @property
    def layout(self) -> PageGrid:
        """The tokens of a page of one tile; `layout_of` has those of any page."""
        return self.grid(1, 1)

    def layout_of(self, page: Any) -> PageGrid:
        """The tokens of this page."""
        _, height, width = self.fitted(page).shape
        return self.grid(height // self.side, width // self.side)

    def grid(self, rows: int, columns: int) -> PageGrid:
        """The tokens of a page of rows x columns tiles."""
        sentence, side = self.sentence(rows, columns), self.tokens_per_side
        places = [place for place, one in enumerate(sentence.ids) if one == self._image_id]
        names, firsts = list(sentence.labels), tuple(places[:: side**2])
        pixels = self.patches.patch_size * self.merged
        found = PageGrid(rows * side, columns * side, pixels, side=side, names=tuple(names), firsts=firsts)
        for place, token in enumerate(found.patches):
            names[token] = f"r{place // found.columns} c{place % found.columns}"
        for place, token in enumerate(found.whole):
            names[token] = f"page r{place // side} c{place % side}"
        return PageGrid(found.rows, found.columns, pixels, side=side, names=tuple(names), firsts=firsts)

    # --- a page -------------------------------------------------------------------------------------------------------

    def fitted(self, page: Any) -> Tensor:
        """A Pillow image, array or tensor of any size -> [C, H, W] of whole tiles. Raises ImageError."""
        pixels = image_files.as_pixels(page, self.patches.channels, self.name)
        for height, width in sides_of(pixels.shape[1], pixels.shape[2], self.preparation):
            pixels = scaled_to(pixels, height, width, self.preparation.interpolation)
        return pixels

    def tiles(self, fitted: Tensor) -> Tensor:
        """A fitted page [C, H, W] -> [N, C, S, S], normalised: its tiles row by row, then the whole page where it has
        more than one tile."""
        side = self.side
        rows, columns = (length // side for length in fitted.shape[1:])
        x = fitted.reshape(-1, rows, side, columns, side).permute(1, 3, 0, 2, 4).flatten(0, 1)
        if len(x) > 1:
            x = torch.cat([x, scaled_to(fitted, side, side, self.preparation.interpolation)[None]])
        x = x if x.is_floating_point() else x.float() / 255.0
        mean, std = (torch.tensor(one).view(-1, 1, 1) for one in (self.preparation.mean, self.preparation.std))
        return (x - mean) / std

    def sentence(self, rows: int, columns: int) -> Tokenized:
        """The prompt of a page of rows x columns tiles, with an IMAGE for each token of a tile.

        Raises ImageError for a page of more tokens than the model accepts.
        """
        patches = IMAGE * self.tokens_per_side**2
        lines = (
            "".join(f"{AROUND}<row_{row + 1}_col_{column + 1}>{patches}" for column in range(columns))
            for row in range(rows)
        )
        tiles = "".join(f"{line}\n" for line in lines) + "\n" if rows * columns > 1 else ""
        page = f"{tiles}{AROUND}{WHOLE}{patches}{AROUND}"
        found = self.tokenizer.encode(self.prompt.replace(IMAGE, page, 1))
        if len(found) > self.config.max_tokens:
            raise ImageError(
                f"This page has {len(found):,} tokens, and {self.name} accepts {self.config.max_tokens:,}: scale it "
                "down, or cut it."
            )
        return found

    @property
    def _image_id(self) -> int | None:
        return self.tokenizer.backend.token_to_id(IMAGE)

    def prepare(self, page: Any) -> Tensor:
        """A page -> the input of the layers [T, E]: vectors of the words of the prompt, and of the tiles' tokens.

        Raises ImageError for what is not a page of this model, and OutOfMemory.
        """
        return self.vectors_of(self.fitted(page))

    def vectors_of(self, fitted: Tensor) -> Tensor:
        """A fitted page [C, H, W] -> [T, E] (`prepare`)."""
        tiles = self.tiles(fitted).to(device=self.device, dtype=self.encoder.dtype)
        sentence = self.sentence(*(length // self.side for length in fitted.shape[1:]))
        ids = torch.tensor(sentence.ids, device=self.device)
        with explain_out_of_memory(self.device, len(tiles) * self.patches.n_tokens), torch.no_grad():
            seen = torch.cat([self.vision.encoder(tile[None]) for tile in tiles])  # [N, P, V]
            x = self.words(ids)
            x[ids == self._image_id] = self.connector(merged_squares(seen, self.merged)).flatten(0, 1)
        found: Tensor = x
        return found

    def shown(self, page: Any) -> Tensor:
        """What the model sees of a page, [C, H, W] from 0 to 1: scaled to whole tiles, but not normalised."""
        pixels = self.fitted(page)
        return pixels if pixels.is_floating_point() else pixels.float() / 255.0

    # --- traces and vectors -------------------------------------------------------------------------------------------

    def trace(self, page: Any, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Run one page of any size and return its Trace. Its ids are -1, `layout` says where its tokens are.

        `edits` change the forward pass of the layers; `request` records more hook points (capture.ON_REQUEST). Raises
        ImageError for what is not a page, EncoderError for edits or a request that do not fit, OutOfMemory.
        """
        fitted = self.fitted(page)
        layout = self.grid(*(length // self.side for length in fitted.shape[1:]))
        return self._traces(self.vectors_of(fitted)[None], layout, edits, request)[0]

    def trace_images(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> list[Trace]:
        """Not of pages: their numbers of tiles differ. Raises EncoderError."""
        raise EncoderError(f"{self.name} accepts pages one by one: call trace for each.")

    @torch.no_grad()
    def token_vectors(self, output: Tensor) -> Tensor:
        """The output of a page [T, D] -> the vectors of its tokens that late interaction compares, float32 [T, E']."""
        for dense in self.token_dense:
            output = dense(output)
        return torch.nn.functional.normalize(output.float(), dim=-1)

"""Part: where a weight of ours is on disk, and both directions: `read` makes ours, `written` makes what is on disk.

A new field of Part is one step of `Part.layout` or `Part.numbers`, with both directions side by side. A shape is what
`arranged` makes of a view without memory, so it is written nowhere else.

Shapes: H heads, K width of a head, D d_model.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

Reader = Callable[[str], Tensor]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One difference between a weight on disk and ours, as the two functions that remove and make it.

    Both raise RuntimeError or IndexError for a shape that does not fit.
    """

    read: Callable[[Tensor], Tensor]
    write: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Part:
    """A weight of ours that is a weight on disk, or a part of one. `name` is the weight on disk."""

    name: str
    #: Ours is the `index`-th of `of` equal blocks of rows.
    index: int = 0
    of: int = 1
    #: Each head's rows are such blocks: [H x of x K, ...] on disk.
    per_head: bool = False
    #: The axis along which the weights of all experts are joined, whose number is "{e}" in the name; None: one weight.
    joined: int | None = None
    #: On disk it has one more first axis, of length 1.
    unwrap: bool = False
    #: On disk it lacks so many first axes of length 1.
    wrap: int = 0
    #: On disk it is [in, out].
    transpose: bool = False
    #: On disk it is [D, pixels of a patch x so many channels], ours [D, channels, rows, columns].
    channels: int = 0
    #: It is a convolution over one token in so many groups of channels, [out, in / groups, 1]; ours has zeros between.
    groups: int = 0
    #: On disk its rows are in the opposite order.
    flip: bool = False
    #: Added to each number (Gemma's gains).
    offset: float = 0.0
    #: By which each number is multiplied (a factor of what a sublayer adds).
    factor: float = 1.0
    #: Tables on disk whose first row is added to every row, one entry for each time. Such a weight is never written.
    plus: tuple[str, ...] = ()
    #: A vector on disk by which its rows are multiplied (layer scale). It is written as ones.
    scale: str = ""

    @property
    def changes(self) -> tuple[Any, ...]:
        """Every field but the name; NO_CHANGE where ours is the weight on disk as it is."""
        return tuple(vars(self).values())[1:]

    def names(self, n_experts: int = 1) -> list[str]:
        """The names on disk: one, or one for each expert."""
        return [self.name.replace("{e}", str(expert)) for expert in range(1 if self.joined is None else n_experts)]

    @property
    def layout(self) -> Iterator[Step]:
        """How the whole weight on disk is laid out, in the order of reading."""
        if self.unwrap:
            yield Step(lambda theirs: theirs.view(theirs.shape[1:]), lambda ours: ours[None])
        if count := self.wrap:
            yield Step(lambda theirs: theirs[(None,) * count], lambda ours: ours.view(ours.shape[count:]))
        if self.transpose:
            yield Step(_turned, _turned)
        if self.flip:
            yield Step(lambda theirs: theirs.flip(0), lambda ours: ours.flip(0))
        if self.channels:
            yield Step(self._patches, lambda ours: ours.permute(0, 2, 3, 1).flatten(1))
        if self.groups:
            yield Step(self._in_one, self._in_groups)

    @property
    def numbers(self) -> Iterator[Step]:
        """What is done to the numbers of our part, in the order of reading."""
        if self.offset:
            yield Step(lambda theirs: theirs.float() + self.offset, lambda ours: ours - self.offset)
        if self.factor != 1.0:
            yield Step(lambda theirs: theirs.float() * self.factor, lambda ours: ours / self.factor)

    def _patches(self, theirs: Tensor) -> Tensor:
        """[D, rows x columns x channels] -> [D, channels, rows, columns], square."""
        side = math.isqrt(theirs.shape[-1] // self.channels)
        return theirs.view(len(theirs), side, side, self.channels).permute(0, 3, 1, 2)

    def _in_one(self, theirs: Tensor) -> Tensor:
        """[out, in / groups, 1] -> [out, in], with zeros where a group does not see a channel."""
        blocks = torch.unflatten(theirs.view(theirs.shape[:2]), 0, (self.groups, -1))
        found = blocks.new_zeros(self.groups, blocks.shape[1], self.groups, blocks.shape[2])
        for one, block in enumerate(blocks):
            found[one, :, one] = block
        return found.flatten(2).flatten(0, 1)

    def _in_groups(self, ours: Tensor) -> Tensor:
        """[out, in] -> [out, in / groups, 1], the blocks of the diagonal."""
        blocks = torch.unflatten(torch.unflatten(ours, 1, (self.groups, -1)), 0, (self.groups, -1))
        return torch.cat([blocks[one, :, one] for one in range(self.groups)])[..., None]

    def arranged(self, theirs: Tensor, n_heads: int) -> Tensor:
        """Our part of the weight on disk, as a view; where there are experts, of all theirs, stacked at `joined`.

        Raises RuntimeError or IndexError for a shape that does not fit.
        """
        found = theirs if self.joined is None else theirs.flatten(self.joined, self.joined + 1)
        for step in self.layout:
            found = step.read(found)
        if self.of > 1:
            groups = n_heads if self.per_head else 1
            found = torch.unflatten(found, 0, (groups, self.of, -1))[:, self.index].flatten(0, 1)
        return found

    def read(self, weights: Sequence[Tensor], n_heads: int, beside: Reader) -> Tensor:
        """The weights on disk, those of all experts -> ours. beside: reads `plus` and `scale`.

        Errors are those of `arranged`.
        """
        found = self.arranged(weights[0] if self.joined is None else torch.stack(tuple(weights), self.joined), n_heads)
        found = found.contiguous() if self.channels else found
        for table in self.plus:
            found = found + beside(table)[:1]
        for step in self.numbers:
            found = step.read(found)
        if self.scale:
            found = found.float() * beside(self.scale).float().view(-1, *(1 for _ in found.shape[1:]))
        return found

    def split(self, ours: Tensor, n_experts: int) -> list[tuple[str, Tensor]]:
        """Name on disk -> our numbers there: one, or one for each expert."""
        names = self.names(n_experts)
        return list(zip(names, ours.chunk(len(names), self.joined or 0), strict=True))


NO_CHANGE = Part("").changes
#: The place of a bias that a family has not, and the norms or maps next to it have: zeros.
NO_BIAS = Part("")


@lru_cache(maxsize=1024)  # the layers of a model are alike
def shape_read(changes: tuple[Any, ...], n_heads: int, shapes: tuple[Shape, ...]) -> Shape:
    """The shape of ours. changes: of the part; shapes: on disk, those of all experts. Errors: of `Part.arranged`."""
    part, whole = Part("", *changes), shapes[0]
    if (axis := part.joined) is not None:
        if any(shape != whole for shape in shapes) or axis >= len(whole):
            raise RuntimeError("experts of different shapes")
        whole = (*whole[:axis], len(shapes), *whole[axis:])
    # One number that every place shows. Tensors without memory ("meta") make torch import its compiler: two seconds.
    return tuple(part.arranged(torch.empty(()).expand(whole), n_heads).shape)


def _turned(weight: Tensor) -> Tensor:
    """[in, out] -> [out, in], and back; a bias has one axis and stays as it is."""
    return weight.permute(*reversed(range(weight.dim())))


def written(places: Iterable[tuple[str, Part, Tensor]], n_heads: int) -> dict[str, Tensor]:
    """The weights on disk from (name, part, our numbers): what `Part.read` reads. `plus` cannot be written.

    Parts of one name are its blocks. A part's `scale` is a name on disk, too.
    """
    blocks: dict[str, list[tuple[Part, Tensor]]] = defaultdict(list)
    found: dict[str, Tensor] = {}
    for name, part, ours in places:
        for step in reversed(list(part.numbers)):
            ours = step.write(ours)
        if part.scale:
            found[part.scale] = torch.ones(len(ours))
        blocks[name].append((part, ours))
    for name, several in blocks.items():
        several.sort(key=lambda block: block[0].index)
        part, whole = several[0]
        if part.of > 1:
            groups = n_heads if part.per_head else 1
            whole = torch.stack([torch.unflatten(ours, 0, (groups, -1)) for _, ours in several], 1).flatten(0, 2)
        for step in reversed(list(part.layout)):
            whole = step.write(whole)
        found[name] = whole
    return found

"""Words in the tree of a page: the vectors of their paths from its root (MarkupLM, Li et al. 2022).

A path such as /html/body/div[2] is a tag and a number for each step from the root; 0 is the number of a tag that has no
sibling of its name. Each step has tables of its own. Tags and numbers are added step by step, the steps are joined, and
a small network makes one vector of them, which is added to the token's.

Shapes: B batch, T tokens, N steps, E width of the tables. A place is N tags, then N numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.model.checks import check_whole

#: Steps of a path.
MOST_STEPS = 1_000


@dataclass(frozen=True)
class Paths:
    """Each token has a path in the tree of its page."""

    #: Steps of a path; longer ones are cut.
    steps: int
    #: Rows of each table of tags.
    tags: int
    #: Rows of each table of numbers.
    numbers: int
    #: Width of the vector of a step.
    step_width: int
    #: Neurons of the network.
    hidden: int
    #: The tag of a step after the end of a path.
    no_tag: int
    #: Its number.
    no_number: int

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1, MOST_STEPS)
        for name in ("tags", "numbers", "step_width", "hidden"):
            check_whole(name, getattr(self, name), 1)
        check_whole("no_tag", self.no_tag, 0, self.tags - 1)
        check_whole("no_number", self.no_number, 0, self.numbers - 1)

    @property
    def nowhere(self) -> tuple[int, ...]:
        """The place of a token without a path."""
        return (self.no_tag,) * self.steps + (self.no_number,) * self.steps

    def has(self, place: tuple[int, ...]) -> bool:
        """Whether a place has rows in the tables."""
        tags, numbers = place[: self.steps], place[self.steps :]
        fits = all(0 <= one < self.tags for one in tags) and all(0 <= one < self.numbers for one in numbers)
        return len(place) == 2 * self.steps and fits


class PathVectors(nn.Module):
    """Places [B, T, 2 N] -> vectors [B, T, E], added to those of the tokens."""

    def __init__(self, shape: Paths, width: int) -> None:
        super().__init__()
        self.tags = nn.ModuleList(nn.Embedding(shape.tags, shape.step_width) for _ in range(shape.steps))
        self.numbers = nn.ModuleList(nn.Embedding(shape.numbers, shape.step_width) for _ in range(shape.steps))
        self.w_in = nn.Linear(shape.steps * shape.step_width, shape.hidden)
        self.w_out = nn.Linear(shape.hidden, width)

    def forward(self, places: Tensor) -> Tensor:
        tags, numbers = places.chunk(2, dim=-1)
        steps = [
            torch.cat([table(of[..., step]) for step, table in enumerate(tables)], dim=-1)
            for of, tables in ((tags, self.tags), (numbers, self.numbers))
        ]
        out: Tensor = self.w_out(self.w_in(steps[0] + steps[1]).relu())
        return out

"""Part: what is read from disk is written back as it was, for every field of a family's table."""

import pytest
import torch
from torch import Tensor

from encoder.checkpoints.families.parts import Part, shape_read, written

HEADS, EXPERTS = 3, 4
#: Fields of Part -> the shape of one weight on disk. Sizes that show a swapped axis.
WRITTEN_BACK = {
    "whole": ({}, (7, 5)),
    "bias": ({}, (7,)),
    "unwrap": ({"unwrap": True}, (1, 7, 5)),
    "wrap": ({"wrap": 2}, (7,)),
    "transpose": ({"transpose": True}, (5, 7)),
    "transposed bias": ({"transpose": True}, (7,)),
    "channels": ({"channels": 3}, (5, 4 * 3)),
    "offset": ({"offset": 1.0}, (7,)),
    "blocks": ({"of": 2}, (14, 5)),
    "blocks of a bias": ({"of": 2}, (14,)),
    "transposed blocks": ({"of": 2, "transpose": True}, (5, 14)),
    "blocks of each head": ({"of": 2, "per_head": True}, (HEADS * 2 * 7, 5)),
    "experts": ({"joined": 0}, (7, 5)),
    "experts, other axis": ({"joined": 1}, (7, 5)),
}


def numbers(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def never(name: str) -> Tensor:
    raise AssertionError(name)


@pytest.mark.parametrize("case", WRITTEN_BACK)
def test_what_is_read_is_written_back(case: str):
    fields, shape = WRITTEN_BACK[case]
    name = "w.{e}" if "joined" in fields else "w"
    disk = {one: numbers(shape, seed) for seed, one in enumerate(Part(name, **fields).names(EXPERTS))}
    parts = [Part(name, index=index, **fields) for index in range(fields.get("of", 1))]
    places = []
    for part in reversed(parts):  # in any order
        weights = [disk[one] for one in part.names(EXPERTS)]
        ours = part.read(weights, HEADS, never)
        assert shape_read(part.changes, HEADS, tuple(tuple(one.shape) for one in weights)) == tuple(ours.shape)
        places += [(place, part, value) for place, value in part.split(ours, EXPERTS)]
    found = written(places, HEADS)
    assert found.keys() == disk.keys()
    for one, value in disk.items():
        torch.testing.assert_close(found[one], value)


def test_each_head_has_blocks_of_its_own():
    disk = torch.arange(HEADS * 2 * 7).float()
    first, second = (Part("w", index, 2, per_head=True).read([disk], HEADS, never) for index in (0, 1))
    assert first.tolist()[:8] == [0, 1, 2, 3, 4, 5, 6, 14]
    assert second.tolist()[:8] == [7, 8, 9, 10, 11, 12, 13, 21]


def test_a_scale_and_tables_are_put_into_the_weight():
    disk = {"w": numbers((7, 5), 0), "scale": numbers((7,), 1), "table": numbers((2, 5), 2)}
    scaled = Part("w", scale="scale").read([disk["w"]], HEADS, disk.__getitem__)
    torch.testing.assert_close(scaled, disk["w"] * disk["scale"][:, None])
    added = Part("w", plus=("table", "table")).read([disk["w"]], HEADS, disk.__getitem__)
    torch.testing.assert_close(added, disk["w"] + 2 * disk["table"][0])
    back = written([("w", Part("w", scale="scale"), scaled)], HEADS)
    torch.testing.assert_close(back["w"] * back["scale"][:, None], scaled)


@pytest.mark.parametrize(
    ("fields", "shapes"),
    [
        ({"unwrap": True}, [(2, 7)]),
        ({"of": 3}, [(7, 5)]),
        ({"of": 2, "per_head": True}, [(14, 5)]),
        ({"channels": 3}, [(5, 5 * 3)]),
        ({"channels": 3}, [(5,)]),
        ({"joined": 0}, [(7, 5), (5, 7)]),
        ({"joined": 1}, [(7,), (7,)]),
    ],
)
def test_other_shapes_do_not_fit(fields: dict, shapes: list[tuple[int, ...]]):
    with pytest.raises((RuntimeError, IndexError)):
        shape_read(Part("w", **fields).changes, HEADS, tuple(shapes))

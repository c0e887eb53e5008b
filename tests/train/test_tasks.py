from __future__ import annotations

import pytest
import torch

from encoder.errors import ConfigError
from encoder.train import tasks


def solved(task: tasks.Task, symbols: str) -> str:
    ids = torch.tensor([[task.symbols.index(symbol) for symbol in symbols]])
    return " ".join(task.classes[int(answer)] for answer in task.answer(ids)[0])


@pytest.mark.parametrize(
    ("name", "symbols", "answer"),
    [
        ("reverse", "31415", "5 1 4 1 3"),
        ("sort", "31415", "1 1 3 4 5"),
        ("previous", "31415", "3 3 1 4 1"),
        ("brackets", "(()())", "5 2 1 4 3 0"),
    ],
)
def test_answers_written_by_hand(name: str, symbols: str, answer: str):
    assert solved(tasks.make(name, len(symbols) if name == "brackets" else 5), symbols) == answer


@pytest.mark.parametrize("name", ["reverse", "previous"])
def test_the_answer_is_read_from_its_source(name: str):
    task = tasks.make(name, 7, 5)
    inputs, answers = task.sample(20, (0,))
    assert task.source is not None
    assert torch.equal(inputs.gather(1, task.source(inputs)) - task.offset, answers)


def test_brackets_are_balanced_and_partners_name_each_other():
    task = tasks.make("brackets", 12)
    inputs, partner = task.sample(200, (3,))
    depth = (1 - 2 * (inputs - task.offset)).cumsum(1)
    assert (depth >= 0).all()
    assert (depth[:, -1] == 0).all()
    assert torch.equal(partner.gather(1, partner), torch.arange(12).expand(200, -1))
    assert (inputs.gather(1, partner) != inputs).all()
    assert len({tuple(row.tolist()) for row in inputs}) > 50


def test_samples_depend_on_the_seed_alone():
    task = tasks.make("reverse")
    assert torch.equal(task.sample(5, (0, 2, 7))[0], task.sample(5, (0, 2, 7))[0])
    for other in [(0, 2, 8), (0, 1), (1, 2, 7), (0, 7, 2)]:
        assert not torch.equal(task.sample(5, (0, 2, 7))[0], task.sample(5, other)[0])


@pytest.mark.parametrize("name", list(tasks.TASKS))
def test_the_tokenizer_reads_what_text_writes(name: str):
    task = tasks.make(name, 6)
    tokenizer = task.tokenizer()
    ids = task.sample(1, (0,))[0][0]
    for text in (task.text(ids), task.text(ids).replace(" ", ""), f"  {task.text(ids)}\n"):
        assert tokenizer.encode(text).ids == tuple(ids.tolist())
    assert tokenizer.vocab_size == task.vocab_size
    assert tokenizer.encode("?").tokens == ("[UNK]",)
    assert tokenizer.pad_id == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("juggle",), "choose one of reverse, sort, previous, brackets"),
        (("reverse", 1), "length=1: choose 2 to 64"),
        (("reverse", 16, 1), "n_symbols=1: choose 2 to 36"),
        (("brackets", 7), "even number"),
    ],
)
def test_values_out_of_bounds_are_refused(arguments: tuple, message: str):
    with pytest.raises(ConfigError, match=message):
        tasks.make(*arguments)

"""Small tasks that an encoder learns in seconds: for each token of a sequence of symbols, name one symbol.

Shapes: n sequences, T tokens of each, C classes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from tokenizers import Regex, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend
from tokenizers.models import WordLevel
from torch import Tensor

from encoder.errors import ConfigError, quoted
from encoder.inputs.tokenizer import Tokenizer

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
#: Limits; a run with more tokens or symbols takes minutes instead of seconds.
LENGTHS = (2, 64)
SYMBOLS = (2, len(DIGITS))
SPECIAL = ("[PAD]", "[UNK]")


@dataclass(frozen=True)
class Task:
    """A task to learn.

    Ids count from 0 here; in the vocabulary the special tokens come before them (`ids + offset`).
    """

    name: str
    title: str
    rule: str
    length: int
    #: The inputs.
    symbols: tuple[str, ...]
    #: The answers.
    classes: tuple[str, ...]
    #: (n, generator) -> ids [n, T].
    draw: Callable[[int, torch.Generator], Tensor]
    #: ids [n, T] -> classes [n, T].
    answer: Callable[[Tensor], Tensor]
    #: ids [n, T] -> [n, T]: the token that has each answer, where attention should lie; None where no single token has
    #: it.
    source: Callable[[Tensor], Tensor] | None

    @property
    def offset(self) -> int:
        """Id of the first symbol in the vocabulary."""
        return len(SPECIAL)

    @property
    def vocab_size(self) -> int:
        """Symbols and special tokens."""
        return len(SPECIAL) + len(self.symbols)

    def sample(self, n: int, seed: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """n sequences and their answers, both [n, T] of int64; ids as in the vocabulary. A seed fixes the sequences."""
        # Several numbers make one seed, so that no training step draws the held-out sequences.
        folded = 0
        for number in seed:
            folded = (folded * 1_000_003 + number + 1) % (2**63 - 1)
        ids = self.draw(n, torch.Generator().manual_seed(folded))
        return ids + self.offset, self.answer(ids)

    def text(self, ids: Tensor) -> str:
        """Ids [T] as in the vocabulary -> the text that a person types: "3 1 4"."""
        return " ".join(self.symbols[int(i) - self.offset] for i in ids)

    def tokenizer(self, registers: int = 0) -> Tokenizer:
        """One token a character, without spaces and special tokens but `registers` before the sequence."""
        before = [f"[REG{index}]" for index in range(registers)]
        vocabulary = {token: index for index, token in enumerate((*SPECIAL, *self.symbols, *before))}
        backend = Backend(WordLevel(vocabulary, unk_token="[UNK]"))
        backend.normalizer = normalizers.Replace(Regex(r"\s+"), "")
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"."), "isolated")
        backend.add_special_tokens([*SPECIAL, *before])
        if before:
            backend.post_processor = processors.TemplateProcessing(
                single=f"{' '.join(before)} $A", special_tokens=[(token, vocabulary[token]) for token in before]
            )
        return Tokenizer(backend, {"pad_token": "[PAD]", "unk_token": "[UNK]"})


def _of_symbols(
    name: str,
    title: str,
    rule: str,
    answer: Callable[[Tensor], Tensor],
    source: Callable[[Tensor], Tensor] | None = None,
) -> Callable[[int, int], Task]:
    """A task on random symbols whose answers are symbols."""

    def task(length: int, n_symbols: int) -> Task:
        def draw(n: int, generator: torch.Generator) -> Tensor:
            return torch.randint(n_symbols, (n, length), generator=generator)

        symbols = tuple(DIGITS[:n_symbols])
        return Task(
            name, title, rule, length=length, symbols=symbols, classes=symbols, draw=draw, answer=answer, source=source
        )

    return task


def brackets(length: int, n_symbols: int) -> Task:
    """The answer is the position of the partner: "( ( ) )" -> 3 2 1 0. Every sequence is balanced; length is even."""
    if length % 2:
        raise ConfigError(f"length={length}: brackets need an even number of tokens, such as {length + 1}.")
    del n_symbols  # there is one kind of bracket
    return Task(
        "brackets",
        "Match brackets",
        "Each bracket predicts the position of its partner, counted from 0.",
        length=length,
        symbols=("(", ")"),
        classes=tuple(str(place) for place in range(length)),
        draw=lambda n, generator: balanced(n, length, generator),
        answer=partners,
        source=partners,
    )


def balanced(n: int, length: int, generator: torch.Generator) -> Tensor:
    """[n, T] of 0 = "(" and 1 = ")", each row balanced; where both are possible, chance decides."""
    chance = torch.rand(n, length, generator=generator)
    ids = torch.empty(n, length, dtype=torch.long)
    depth = torch.zeros(n, dtype=torch.long)
    for place in range(length):
        closes = (chance[:, place] < 0.5) & (depth > 0) | (depth >= length - place)
        ids[:, place] = closes.long()
        depth += 1 - 2 * closes.long()
    return ids


def partners(ids: Tensor) -> Tensor:
    """Balanced brackets [n, T] -> the position of each partner, [n, T]."""
    found = torch.empty_like(ids)
    for row, brackets_of_row in zip(found, ids.tolist(), strict=True):
        opened: list[int] = []
        for place, bracket in enumerate(brackets_of_row):
            if bracket == 0:
                opened.append(place)
            else:
                partner = opened.pop()
                row[place], row[partner] = partner, place
    return found


#: Name -> (length, n_symbols) -> task.
TASKS: dict[str, Callable[[int, int], Task]] = {
    "reverse": _of_symbols(
        "reverse", "Reverse the sequence", "Each token predicts the symbol at the mirrored position.",
        lambda ids: ids.flip(-1), lambda ids: torch.arange(ids.shape[-1]).flip(0).expand_as(ids),
    ),
    "sort": _of_symbols(
        "sort", "Sort the sequence", "Token i predicts the symbol at position i of the sorted sequence.",
        lambda ids: ids.sort(-1).values,
    ),
    "previous": _of_symbols(
        "previous", "Copy the previous", "Each token predicts the symbol before it; the first predicts itself.",
        lambda ids: torch.cat((ids[:, :1], ids[:, :-1]), dim=1),
        lambda ids: (torch.arange(ids.shape[-1]) - 1).clamp(min=0).expand_as(ids),
    ),
    "brackets": brackets,
}  # fmt: skip


def make(name: str, length: int = 16, n_symbols: int = 10) -> Task:
    """A task by name. Raises ConfigError for an unknown name, and for lengths or symbols out of bounds."""
    if name not in TASKS:
        raise ConfigError(f"task={quoted(name)}: choose one of {', '.join(TASKS)}.")
    for what, value, (least, most) in (("length", length, LENGTHS), ("n_symbols", n_symbols, SYMBOLS)):
        if not least <= value <= most:
            raise ConfigError(f"{what}={value}: choose {least} to {most}.")
    return TASKS[name](length, n_symbols)

"""Attention maps on the wall: tokens on rows and columns, square cells, and a frame around what is asked."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from pages.teaching.questions import Look, Question
from pages.teaching.questions.kinds import HeadQuestion
from pages.teaching.questions.open_kinds import ConclusionQuestion, SentenceQuestion

#: Tokens of a map: the names of more have no room in the type of a wall.
MOST = 16
#: Right heads whose rows are shown.
MOST_HEADS = 6
#: Weights that are drawn.
FAINTEST = 0.005


def html(question: Question, look: Look, view: Mapping[str, str], heads: Sequence[Sequence[int]]) -> str:
    """The map that a question is about, for the wall; "" for a question about none.

    heads: those that are right. Of several, each has the row that is asked about.
    """
    if isinstance(question, HeadQuestion):
        found, given = [look.at(*one) for one in heads[:MOST_HEADS]], question.asked.arguments
        if "target" in given:  # attention of a decoder
            return ""
        query, key = ([look.token(given[name])] if name in given else [] for name in ("query", "key"))
        if len(found) > 1 and query:
            return _rows(found, query[0], key)
        others = f" (also right: {', '.join(map(_name, found[1:]))})" if len(found) > 1 else ""
        return _map(found[0], others, {(i, j) for i in query for j in key})
    if isinstance(question, SentenceQuestion) and question.asked.quantity.per_head:
        given = question.asked.arguments
        return _map(look.about(question.example).at(given.get("layer"), given.get("head")))
    if isinstance(question, ConclusionQuestion) and look.trace.kind == "text" and view.get("page") == "heads":
        return _map(look)
    return ""


def _name(look: Look) -> str:
    return f"L{look.layer} H{look.head}"


def _map(look: Look, others: str = "", asked: Iterable[tuple[int, int]] = ()) -> str:
    """The map of one head. others: heads with the same claim; asked: cells with a frame."""
    weights = np.stack([look.row(query) for query in range(look.trace.n_tokens)])
    return _table(f"{_name(look)}{others}: rows attend to columns", look.names, weights, look.names, asked)


def _rows(heads: Sequence[Look], query: int, key: Sequence[int]) -> str:
    """One row of several heads."""
    names = heads[0].names
    weights = np.stack([one.row(query) for one in heads])
    asked = {(row, place) for row in range(len(heads)) for place in key}
    return _table(f"What “{names[query]}” attends to", [*map(_name, heads)], weights, names, asked)


def _table(
    said: str, rows: Sequence[str], weights: np.ndarray, columns: Sequence[str], asked: Iterable[tuple[int, int]]
) -> str:
    """A table in which the opacity of a cell is its weight; "" where the names have no room."""
    if not 1 < len(columns) <= MOST:
        return ""
    framed = set(asked)
    head = "".join(f"<th scope='col'><span>{escape(one)}</span></th>" for one in columns)
    body = "".join(
        f"<tr><th scope='row'>{escape(name)}</th>"
        + "".join(
            f"<td{' data-asked' if (row, place) in framed else ''}>"
            + (f"<i style='opacity:{weight:.2f}'></i>" if weight >= FAINTEST else "")
            + "</td>"
            for place, weight in enumerate(weights[row])
        )
        + "</tr>"
        for row, name in enumerate(rows)
    )
    return (
        f"<table class='enc-map-of-head' style='--columns:{len(columns)};--rows:{len(rows)}'>"
        f"<caption>{escape(said)}</caption><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )

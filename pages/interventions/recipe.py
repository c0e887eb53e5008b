"""The recipe: its edits as chips that are switched, moved and removed, and the form that adds one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from encoder import edits, figures
from pages.components.button import button
from pages.components.lazy import popover
from pages.core.inputs.edited import EditParams, Recipe, Step, describe, take_back
from pages.core.inputs.input_words import InputWords, words_of
from pages.core.stores import input_kinds
from pages.core.view import View
from pages.state import controlled, state


@dataclass(frozen=True)
class Form:
    """What the reader chose in the form."""

    layer: int
    head: int
    query: int
    key: int
    value: float
    text: str


@dataclass(frozen=True)
class Kind:
    """A kind of edit on offer. fields: the parts of the form that it needs; value: its default number and range."""

    title: str
    fields: tuple[str, ...]
    make: Callable[[Form], edits.Edit]
    value: tuple[float, float, float] = (1.0, 0.0, 1.0)


KINDS = {
    "head": Kind("Switch off a head", ("layer", "head"), lambda form: edits.AblateHead(form.layer, form.head)),
    "hide": Kind("Hide a token everywhere", ("key",), lambda form: edits.MaskKeys((form.key,))),
    "cut": Kind(
        "Cut one weight in a layer", ("layer", "query", "key"),
        lambda form: edits.MaskKeys((form.key,), layer=form.layer, query=form.query),
    ),
    "weight": Kind(
        "Set one weight", ("layer", "head", "query", "key", "value"),
        lambda form: edits.SetWeight(form.layer, form.head, form.query, form.key, form.value), (0.5, 0.0, 1.0),
    ),
    "attention": Kind(
        "Leave out the attention of a layer", ("layer",), lambda form: edits.Zero("attention_out", layer=form.layer)
    ),
    "ffn": Kind("Leave out the FFN of a layer", ("layer",), lambda form: edits.Zero("ffn_out", layer=form.layer)),
    "first_ffn": Kind(
        "Leave out the first FFN of a layer", ("layer",), lambda form: edits.Zero("first_ffn_out", layer=form.layer)
    ),
    "convolution": Kind(
        "Leave out the convolution of a layer", ("layer",), lambda form: edits.Zero("convolution_out", layer=form.layer)
    ),
    "scale": Kind(
        "Scale a head", ("layer", "head", "value"),
        lambda form: edits.Scale("z", form.value, layer=form.layer, heads=(form.head,)), (2.0, -10.0, 10.0),
    ),
    "mean": Kind(
        "Set a head to its mean over another {input}", ("layer", "head", "any_text"),
        lambda form: edits.Mean("z", (form.text,), layer=form.layer, heads=(form.head,)),
    ),
    "uniform": Kind(
        "Uniform attention in a head", ("layer", "head"), lambda form: edits.UniformAttention(form.layer, form.head)
    ),
    "temperature": Kind(
        "Temperature, every head", ("value",), lambda form: edits.Temperature(form.value), (2.0, 0.05, 100.0)
    ),
    "causal": Kind("Causal mask, every head", (), lambda form: edits.CausalMask()),
    "positions": Kind("Leave out positions", (), lambda form: edits.DropPositions()),
    "shuffle": Kind("Shuffle positions", (), lambda form: edits.PermutePositions(seed=0)),
    "noise": Kind(
        "Noise on the embeddings", ("value",), lambda form: edits.Noise("embedding", form.value), (0.1, 0.0, 10.0)
    ),
    "pattern": Kind("Attention of another {input}", ("text",), lambda form: edits.Replace("pattern", form.text)),
    "values": Kind("Values of another {input}", ("text",), lambda form: edits.Replace("v", form.text)),
}  # fmt: skip


def _own(name: str) -> Kind:
    return Kind(
        f"Your function “{name}” of a head’s z",
        ("layer", "head"),
        lambda form: edits.Call("z", name, layer=form.layer, heads=(form.head,)),
    )


KINDS |= {f"own:{name}": _own(name) for name in edits.FUNCTIONS}


def toggle_head(layer: int, head: int) -> None:
    """Switch a head off, or on again. For callbacks."""
    recipe, edit = state.newest(EditParams.recipe), edits.AblateHead(layer, head)
    kept = tuple(step for step in recipe if step.edit != edit)
    if Step(edit) not in recipe and len(kept) < edits.MOST_EDITS:
        kept = (*kept, Step(edit))
    state.put(EditParams.recipe, kept)


def draw_form(view: View) -> None:
    """The button that opens the form of an edit."""
    part = popover("Add an edit", "add-edit", icon=":material/add:")
    if part is not None:
        with part:
            _form(view)


def draw_recipe(view: View, recipe: Recipe) -> None:
    """The chips, and the button that takes all edits back."""
    for index, step in enumerate(recipe):
        _chip(view, recipe, index, step)
    if recipe:
        button("Undo all edits", "restart_alt", "edits:clear", take_back)


def _chip(view: View, recipe: Recipe, index: int, step: Step) -> None:
    words = describe(step.edit, view.trace.labels)

    def switch(on: bool) -> None:
        state.put(EditParams.recipe, (*recipe[:index], replace(step, on=on), *recipe[index + 1 :]))

    with st.container(horizontal=True, border=True, width="content", vertical_alignment="center", gap="xsmall"):
        controlled(st.checkbox, words, key=f"edits:on:{index}", value=step.on, take=switch, width="content")
        if index:
            earlier = (*recipe[: index - 1], step, recipe[index - 1], *recipe[index + 1 :])
            button(
                "Earlier",
                "arrow_back",
                f"edits:earlier:{index}",
                partial(state.put, EditParams.recipe, earlier),
                help=f"Apply earlier: {words}",
                type="tertiary",
            )
        button(
            "Remove",
            "close",
            f"edits:remove:{index}",
            partial(state.put, EditParams.recipe, (*recipe[:index], *recipe[index + 1 :])),
            help=f"Remove: {words}",
            type="tertiary",
        )


def _form(view: View) -> None:
    config, labels, words = view.loaded.config, view.trace.labels, words_of(view.trace)
    lacking = () if config.conformer is not None else ("first_ffn", "convolution")
    offered = [name for name in KINDS if name not in lacking]
    name = st.selectbox(
        "Edit", offered, format_func=lambda one: KINDS[one].title.format(input=words.text), key="add:kind"
    )
    kind = KINDS[name]
    last = view.trace.n_tokens - 1

    def number(field: str, label: str, start: int, most: int) -> int:
        if field not in kind.fields:
            return start
        return int(st.number_input(label, 0, most, value=start, key=f"add:{field}:{most}"))

    def token(field: str, label: str, start: int) -> int:
        if field not in kind.fields:
            return start
        return st.selectbox(
            label,
            range(len(labels)),
            index=start,
            key=f"add:{field}:{view.run.input.name}",
            format_func=lambda place: f"{place} · {figures.isolated(labels[place])}",
        )

    value, low, high = kind.value
    form = Form(
        layer=number("layer", "Layer", view.layer, config.n_layers - 1),
        head=number("head", "Head", view.head, config.n_heads - 1),
        query=token("query", "Query token", min(view.i or 1, last)),
        key=token("key", "Key token", min(view.j or 1, last)),
        value=st.number_input("Value", low, high, value, key=f"add:value:{name}") if "value" in kind.fields else value,
        text=_other_input(view, words) if {"text", "any_text"} & {*kind.fields} else "",
    )
    if "text" in kind.fields:
        st.caption(f"It needs the same number of tokens as your {words.text}: {view.trace.n_tokens}.")
    elif "any_text" in kind.fields:
        st.caption(f"The head passes on its mean over all tokens of that {words.text}, of any length.")
    full = len(state.get(EditParams.recipe)) >= edits.MOST_EDITS
    st.button("Add", type="primary", key="add:go", on_click=_add, args=(kind, form), disabled=full)


def _other_input(view: View, words: InputWords) -> str:
    """The input that an edit takes values from: a text that is typed, or the name of another input."""
    if view.loaded.takes == "text":
        return st.text_input("Other text", key="add:text")
    known = input_kinds.of(view.loaded).names(view.loaded)
    return st.selectbox(f"Other {words.input}", list(known), format_func=known.get, key=f"add:{words.input}")


def _add(kind: Kind, form: Form) -> None:
    state.put(EditParams.recipe, (*state.newest(EditParams.recipe), Step(kind.make(form))))

"""The switches inside the picture: norms, mask, positions, and what is off. They make the edits of every page."""

from functools import partial

from encoder import causal, classify
from encoder.edits import AblateHead, CausalMask, DropPositions, Edit, Zero
from encoder.figures.numbers import in_words, three_digits
from encoder.measure import ranking
from encoder.measure.residual_stream import output_agreement
from encoder.model.layers import NORM_NAMES
from pages.core.inputs import edited
from pages.core.inputs.edited import EditParams
from pages.core.view import norm_change
from pages.core.view.view import View, ViewParams
from pages.core.widgets.answer import nth_largest
from pages.state.url_state import state

#: Longer inputs and larger models have no effect of every head on this page: Interventions measures it.
MOST_TOKENS, MOST_HEADS = 128, 200


def edits_of(view: View) -> dict[str, Edit]:
    """Switch -> the edit that it turns on and off."""
    config, layer = view.loaded.config, view.layer
    found: dict[str, Edit] = {
        "head": AblateHead(layer, view.head),
        "attention": Zero("attention_out", layer=layer),
        "ffn": Zero("ffn_out", layer=layer),
    }
    if config.conformer is not None:
        found |= {part: Zero(f"{part}_out", layer=layer) for part in ("first_ffn", "convolution")}
    if not config.causal:
        found["causal"] = CausalMask()
    if config.has_positions:
        found["positions"] = DropPositions()
    return found


def header(view: View) -> dict[str, list[dict[str, object]]]:
    """The switches as the picture draws them: in its bar, and as power buttons of the open layer."""
    chosen = edited.active(state.newest(EditParams.recipe))
    known = {name: edit in chosen for name, edit in edits_of(view).items()}
    pre, name = view.loaded.config.norm_placement == "pre", NORM_NAMES[view.loaded.config.norm_kind]
    bar = [_switch("norm", "Pre-norm", f"{name} before each sublayer; off: after the addition (post-norm)", pre)]
    if "causal" in known:
        bar.append(_switch("causal", "Causal mask", "Hide later tokens, as a decoder does", known["causal"]))
    if "positions" in known:
        bar.append(_switch("positions", "Positions", "Positional encodings", not known["positions"]))
    said = {
        "first_ffn": ("first feed-forward", "First feed-forward"),
        "attention": ("attention", "Attention"),
        "head": (f"head {view.head}", f"Head {view.head}"),
        "convolution": ("convolution", "Convolution"),
        "ffn": ("feed-forward", "Feed-forward"),
    }
    power = [
        _switch(name, label, f"{title} of layer {view.layer}: on or off", not known[name])
        for name, (label, title) in said.items()
        if name in known
    ]
    return {"bar": bar, "power": power}


def heads_off(view: View) -> list[int]:
    """The heads of the open layer that are switched off."""
    chosen = edited.active(state.newest(EditParams.recipe))
    return [
        h
        for h in range(view.loaded.config.n_heads)
        if AblateHead(view.layer, h) in chosen or Zero("attention_out", layer=view.layer) in chosen
    ]


def _switch(name: str, label: str, title: str, on: bool) -> dict[str, object]:
    return {"name": name, "label": label, "title": title, "on": on}


def turn(view: View, name: str, on: bool) -> None:
    """Turn a switch of the picture. For callbacks."""
    if name == "norm":
        wanted = "pre" if on else "post"
        if state.get(ViewParams.model) != "scratch" and wanted == original(view).loaded.config.norm_placement:
            wanted = "trained"
        state.put(ViewParams.norm, wanted)
    elif (edit := edits_of(view).get(name)) is not None:
        recipe = tuple(step for step in state.newest(EditParams.recipe) if step.edit != edit)
        state.put(EditParams.recipe, recipe)
        if on == (name == "causal"):  # the other switches are on while nothing is edited
            edited.add(edit)


def original(view: View) -> View:
    """The same input through the model as it was trained: without edits, with its own norm placement."""
    norm = view.model.norm if view.model.untrained else "trained"
    return view.but(norm=norm, edits=())


def effect(view: View) -> tuple[str, list[str]]:
    """What the changes do to the picture's end: one sentence, and two short lines next to the vector; or nothing."""
    before_it = original(view)
    if before_it.run == view.run:
        return "", []
    head = view.loaded.classifier
    outcome: causal.Outcome = causal.SentenceVector()
    said = "Similarity to the vector of the unchanged model"
    if head is not None and head.config.kind == "sequence" and head.config.reads_output:
        best = classify.predict(before_it.loaded, before_it.trace).best
        outcome, said = causal.ClassProbability(best, None, "probability"), f"Probability of “{best}”"
    name = ("effect on the end", before_it.run.of_pass)
    before, after = view.derived(name, lambda trace: causal.outcomes_of(view.loaded, before_it.trace, [trace], outcome))
    numbers = f"{three_digits(before)} → {three_digits(after)}"
    difference = ("+" if after > before else "") + three_digits(after - before)
    what = "similarity" if head is None else "probability"
    ends = [what, f"before: {three_digits(before)}", f"after: {three_digits(after)}", "difference:", difference]
    return f"{said}: {numbers} (difference {difference}).{_tokens(before_it, view)}", ends


def _tokens(before: View, view: View) -> str:
    """Where only the norms are moved: how far the tokens' outputs agree, which Pre/post-norm shows too."""
    if before.run.edits != view.run.edits or before.run.model == view.run.model:
        return ""
    name = ("agreement of outputs", before.run.of_pass)
    found = view.derived(name, lambda trace: output_agreement(before.trace, trace))
    return f" Mean cosine of the tokens’ outputs, as on Pre/post-norm: {three_digits(found)}."


def worth(view: View) -> str:
    """What the open head is worth for the vector of the input, and its rank among all heads; "" where it is not known.

    Each head is switched off by itself. A pattern of attention does not say this.
    """
    config = view.loaded.config
    count = config.n_layers * config.n_heads
    if view.trace.edits or view.trace.n_tokens > MOST_TOKENS or count > MOST_HEADS:
        return ""
    effects = view.derived(("effect of every head",), partial(causal.ablate_each_head, view.loaded)).abs()
    own = float(effects[view.layer, view.head])
    rank, _ = ranking.rank(effects, (view.layer, view.head))
    what = "vector" if view.trace.kind == "text" else f"vector of the {view.trace.kind}"
    return (
        f"Without this head, similarity to the {norm_change.original(view)} {what} falls by {in_words(own)} "
        f"({nth_largest(rank, count)})."
    )

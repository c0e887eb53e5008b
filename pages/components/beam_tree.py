"""`beam_tree`: the candidates of beam search as a tree, the steps from left to right."""

from encoder.drawing import wire
from encoder.encoders.generate import Generation

from . import assets
from .headers import BeamHeader, BeamNode

_render = assets.component("beam_tree")
#: Pixels of a candidate, and above and below the tree.
ROW, AROUND = 34, 80


def beam_tree(found: Generation, *, key: str, alt: str) -> None:
    """Draws every candidate of every step: those that the search kept, that it pruned, and that ended the output.

    The best output is marked. A candidate's label has its text so far, its log probability and what became of it; arrow
    keys go to its parent, its children and the others of its step.

    Args:
        found: the output of `model.generate(..., beams=)`.
        key: the widget's key.
        alt: a sentence for screen readers.
    """
    decode, best = found.model.decoder.tokenizer.backend.decode, set(found.best_path)
    nodes: list[BeamNode] = [
        {
            "step": node.step,
            "parent": node.parent,
            "label": node.label,
            "logP": node.log_probability,
            "kept": node.kept,
            "ended": node.finished,
            "best": at in best,
            "text": decode(found.ids_to(at)),
        }
        for at, node in enumerate(found.nodes)
    ]
    most = max(sum(one.step == step for one in found.nodes) for step in {one.step for one in found.nodes})
    header: BeamHeader = {"alt": alt, "nodes": nodes}
    _render(key=key, data=wire.pack(header, {}), height=ROW * most + AROUND)

"""What the page “Architecture” exports."""

from encoder.explain.architecture import Architecture
from encoder.explain.cost import Cost
from encoder.export import tables
from pages.core.view.view import View
from pages.core.widgets.export import Export


def export_architecture(view: View, drawn: Architecture, bytes_each: int) -> None:
    """Every block with its shape, parameters, FLOPs and memory."""
    Export(
        view,
        f"Architecture of {view.loaded.name}",
        lambda: tables.architecture_frame(drawn),
        lines="from encoder.export import tables\nfrom encoder.explain.architecture import architecture\n"
        f"drawn = architecture(model.config, trace.n_tokens, {bytes_each})\n"
        "table = tables.architecture_frame(drawn)",
    ).draw()


def export_cost(view: View, found: Cost, bytes_each: int) -> None:
    """FLOPs and bytes of each part of a layer."""
    Export(
        view,
        f"Cost of {view.loaded.name}",
        lambda: tables.cost_frame(found),
        lines="from encoder.export import tables\nfrom encoder.explain import cost\n"
        f"found = cost.cost(model.config, trace.n_tokens, model.n_parameters, {bytes_each})\n"
        "table = tables.cost_frame(found)",
    ).draw()

"""What several pages draw: the answer to a click, export, comparison, occlusion, outcomes, predictions."""

from pages.core.widgets.export import Export, arguments, changes, file_name, given, origin, place, title

__all__ = ["Export", "arguments", "changes", "file_name", "given", "origin", "place", "title"]

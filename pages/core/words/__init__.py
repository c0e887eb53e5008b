"""Text on the screen: Markdown that escapes, formulas, names of tokens, hints, the glossary."""

from pages.core.words.formulas import change, in_columns, number
from pages.core.words.glossary import opening
from pages.core.words.markdown import errors_said, plain, say_error, screen_name, table

__all__ = ["change", "errors_said", "in_columns", "number", "opening", "plain", "say_error", "screen_name", "table"]

"""Text on the screen: Markdown that escapes, formulas, names of tokens, hints, the glossary."""

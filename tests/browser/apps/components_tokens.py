"""What components_app.py draws and its tests compare with: a repeated word, markup, right-to-left letters."""

TOKENS = ["[CLS]", "the", "cat", "sat", "on", "the", "<b>mat</b>", "קטה", "[SEP]"]

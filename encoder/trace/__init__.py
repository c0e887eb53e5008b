"""What a forward pass leaves behind: `capture` records, `trace` holds the values and derives the rest."""

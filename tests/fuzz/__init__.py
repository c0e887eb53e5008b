"""Hostile input in numbers: mutated checkpoints, texts, addresses and messages. `make fuzz` runs ten minutes of it."""

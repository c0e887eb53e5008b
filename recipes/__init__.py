"""How the bundled models were trained. Not in the wheel: nothing of the engine or the app imports it."""

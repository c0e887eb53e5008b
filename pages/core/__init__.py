"""What several pages use, in rooms that build on each other: ARCHITECTURE.md names them from the ground up."""

"""What these tests share with the engine's."""

from tests.engine.conftest import minilm, prose

__all__ = ["minilm", "prose"]

"""What these tests share with the engine's."""

from tests.engine.conftest import make_tiny, minilm, variant

__all__ = ["make_tiny", "minilm", "variant"]

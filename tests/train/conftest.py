"""One thread for every test of training."""

from __future__ import annotations

from tests.twins.conftest import one_thread

__all__ = ["one_thread"]

"""What a measured result needs in memory: the app's cache asks each result for its `nbytes`."""

from collections.abc import Mapping


class Sized:
    """A result that holds arrays or tensors, directly or inside tuples, mappings and other results."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays and tensors in it."""
        return sum(_bytes(value) for value in vars(self).values())


def _bytes(value: object) -> int:
    if isinstance(value, (tuple, list)):
        return sum(_bytes(one) for one in value)
    if isinstance(value, Mapping):
        return sum(_bytes(one) for one in value.values())
    return int(getattr(value, "nbytes", 0))

"""Numbers and shapes of blocks as text."""

from encoder.figures.architecture import shape_text


def percent(share: float) -> str:
    """0.0779 -> "7.8 %"; a small share does not read 0."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{share:.1%}".replace("%", " %")


def shape_words(shape: tuple[tuple[str, int], ...]) -> str:
    """ "T × D = 9 × 384"."""
    return f"{' × '.join(name for name, _ in shape)} = {shape_text(shape)}"


def short(number: int) -> str:
    """1234567 -> "1.23 M", without a line break."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}\u00a0{unit}"
    return f"{number}\u00a0"

"""The first blocks of an architecture that takes sound."""

from collections.abc import Callable

from encoder.config import EncoderConfig
from encoder.explain.blocks import Dimension


def sound_blocks(add: Callable[..., str], config: EncoderConfig, T: Dimension, E: Dimension) -> str:
    """Add the sound, and the patches of its spectrogram or the convolutions over time; returns the key of the last."""
    patches, steps, key = config.spectrogram, config.convolutions, "embedding.tokens"
    if patches is not None:
        shape, area = (("M", patches.n_mels), ("S", patches.n_frames)), patches.patch_size**2
        add("tokens", "tokens", "Sound", shape, shape, detail="log-mel spectrogram")
        return add(
            key, "embedding", "Patches", shape, (T, E), opens=key, step="embedding",
            weights=(area + 1) * E[1] + 2 * E[1],  # the convolution with its bias, and two special tokens
            flops=2 * patches.count * area * E[1],
            detail=f"{patches.count} squares of {patches.patch_size} × {patches.patch_size}, [CLS] and [DIST]",
        )  # fmt: skip
    assert steps is not None
    given = (("M", steps.channels), ("S", T[1] * steps.hop))
    add(
        "tokens",
        "tokens",
        "Sound",
        given,
        given,
        detail="samples" if steps.channels == 1 else "log-mel spectrogram",
    )
    return add(
        key, "embedding", "Convolutions", given, (T, E), opens=key, step="embedding",
        weights=steps.n_weights(E[1]), flops=steps.flops(T[1], E[1]),
        detail=f"{len(steps.widths)} over time, one token for each {steps.hop} steps",
    )  # fmt: skip

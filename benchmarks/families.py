"""The plain forward pass of every family, next to that of transformers: 3 layers of width 384, about 512 tokens.

The checkpoints are those of the tests, with random weights and larger sizes. transformers uses the attention that it
prefers for the family, and its grouped product for experts. Before a family is timed, both sides must compute the same
output.
"""

import contextlib
import dataclasses
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

import encoder
from benchmarks import report, timing
from benchmarks.report import Figure
from encoder.inputs.sound import MOST_SECONDS
from encoder.inputs.sound_layout import SpectrogramGrid
from tests.load import every_family, sounds
from tests.load.every_family import Case

TOKENS, WIDTH, HEADS, FFN = 512, 384, 12, 1536
#: How the families name a size -> the size.
SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "emb_dim", "dim", "word_embed_proj_dim"), WIDTH),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), HEADS),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), HEADS),
    **dict.fromkeys(("encoder_num_attention_heads", "decoder_num_attention_heads"), HEADS),
    **dict.fromkeys(("intermediate_size", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "hidden_dim"), FFN),
    **dict.fromkeys(("head_dim", "d_kv"), WIDTH // HEADS),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), TOKENS + 88),
    "max_encoder_position_embeddings": TOKENS + 88,  # LED
    "coordinate_size": WIDTH // 6,  # LayoutLMv3
    "shape_size": WIDTH // 6,
    "moe_intermediate_size": WIDTH,
    "num_key_value_heads": HEADS // 3,
    "attention_window": TOKENS,  # Longformer's own
    "block_size": 64,  # BigBird's own
    "local_radius": 127,  # LongT5's own
    "image_size": 92,  # 23 x 23 patches
    "crop_size": 128,  # V-JEPA 2: two steps of 16 x 16 patches
    "frames_per_clip": 4,
    "max_length": 688,  # AST: 85 x 6 patches
    "max_source_positions": 500,  # Whisper: 10 s
}
#: VideoMAE: as V-JEPA 2.
VIDEO = {"image_size": 128, "num_frames": 4}
#: SqueezeBERT: its embeddings are as wide as its layers.
GROUPED = {"embedding_size": WIDTH}
#: Largest difference of outputs of the order of 1, where sums have other orders.
SAME = 1e-3


def run(*, seconds: float, clock: str) -> Iterator[Figure]:
    """The ratio of each family, one by one. seconds: for one family."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        known = [case for case in reversed(every_family.ALL.values()) if hasattr(transformers, f"{case.kind}Config")]
        for title, case in {case.title: case for case in known}.items():
            yield ratio(title, case, seconds, clock)
    finally:
        torch.set_num_threads(threads)


def enlarged(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A tiny checkpoint's fields with the sizes of a small one."""
    found = {
        name: enlarged(value) if isinstance(value, dict) else SIZES.get(name, value) for name, value in fields.items()
    }
    if "num_frames" in fields:
        return found | VIDEO
    if "v_groups" in fields:
        return found | GROUPED
    return found | ({"image_size": [SIZES["image_size"]] * 2} if isinstance(fields.get("image_size"), list) else {})


def ratio(title: str, case: Case, seconds: float, clock: str) -> Figure:
    """Both sides in turn. Raises ValueError if they compute different numbers."""
    made = dataclasses.replace(case, fields=enlarged(case.fields)).make()
    with tempfile.TemporaryDirectory() as place:
        ours = encoder.load(every_family.write(case, made, Path(place) / "model"), device="cpu")
    with contextlib.suppress(ValueError):  # this family has one implementation of its own
        made.set_attn_implementation("sdpa")  # type: ignore[operator]
    if {"num_experts", "num_local_experts"} & case.fields.keys():
        made.set_experts_implementation("grouped_mm")  # type: ignore[operator]
    given = inputs(ours)
    places = places_of(case, ours, given.shape[1])
    more = case.more(given) | every_family.named_places(case, places)
    places = None if places is None else places[None]
    whole = case.encode(made)
    # Without a head; of a model without one, `base_model` may be a part (AIMv2).
    theirs = whole if type(whole).__name__.endswith("Model") else whole.base_model
    calls: dict[str, Callable[[], Tensor]] = {
        "ours": torch.no_grad()(lambda: ours.encoder(given, places=places)),
        "transformers": torch.no_grad()(lambda: theirs(given, **more).last_hidden_state),
    }
    mine, other = (call() for call in calls.values())
    apart = float((mine - other).abs().max()) / max(1.0, float(other.abs().max()))
    if apart > SAME:
        raise ValueError(f"The sides of {title} differ by {apart:.2g}, so their speeds cannot be compared.")
    measured = timing.in_turn(calls, seconds=seconds, least=7, clock=clock)
    found = timing.ratio(*measured.values())
    return Figure(
        "families",
        title,
        "transformers",
        found.value,
        tokens=mine.shape[1],
        target=1.1,
        low=found.low,
        high=found.high,
        raw={name: report.seconds(statistics.median(series)) for name, series in measured.items()},
    )


def places_of(case: Case, model: Any, n_tokens: int) -> Tensor | None:
    """[T, P]: places of as many tokens, where the model knows any."""
    if case.boxes:
        return torch.tensor(every_family.boxes_of(n_tokens))
    if not case.nodes:
        return None
    paths = [[model.tokenizer.tags.place(path)] * count for count, path in every_family.nodes_of(n_tokens)]
    return torch.tensor([one for some in paths for one in some])


def inputs(model: Any) -> Tensor:
    """About TOKENS tokens: ids [1, T], pixels [1, C, S, S] or [1, F, C, S, S], or a prepared sound."""
    if model.takes == "text":
        return torch.tensor([every_family.ids_of(TOKENS, 0)])
    if model.takes == "video":
        shape = model.config.patches
        sizes = (shape.frames, shape.channels, shape.image_size, shape.image_size)
        return torch.randn(1, *sizes, generator=torch.Generator().manual_seed(0))
    if model.takes == "image":
        patches = model.config.patches
        return torch.randn(1, 3, *[patches.image_size] * 2, generator=torch.Generator().manual_seed(0))
    front = model.config.convolutions
    if front is None:
        layout = model.trace(sounds.tone(1.0)).layout
        # A spectrogram of one size has as many patches for any sound.
        length = 1.0 if isinstance(layout, SpectrogramGrid) else min(MOST_SECONDS, layout.step * TOKENS)
    else:
        length = (front.hop * (TOKENS - 1) + front.reach) / model.rate
    return model.prepare(sounds.tone(length))[None]

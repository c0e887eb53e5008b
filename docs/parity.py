"""`python -m docs.parity` writes docs/parity.md and the registry of families: how far each is from transformers.

The registry (encoder/checkpoints/measured.json, which docs/families.py shows) has every family alone, in float64 and
float32; parity.md has images, sounds and pairs by checkpoint and precision.

Every checkpoint is a tiny one with random weights, written by transformers. The largest difference is over output,
streams between layers, all attention maps, the vector or the probabilities.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import encoder
from encoder.checkpoints.measured_parity import MEASURED
from encoder.checkpoints.native import DISK_TYPES
from encoder.model.config import EncoderConfig
from encoder.model.layers import NORM_NAMES
from encoder.model.paths import Paths
from tests.load import decoders, every_family, joints, pages, reference, sounds, timm_files

FILE = Path(__file__).parent / "parity.md"
HEAD = """# Images, sounds and pairs next to transformers

`python -m docs.parity` writes this file. Each row is a tiny checkpoint with random weights, written by transformers
5.23. A figure is the largest absolute difference over the output, the residual stream between layers, all attention
maps and what the head gives (a vector, or probabilities). The reference: transformers in float32, same weights.

- **float32**: the promise is 1e-5.
- **float16 file**: the weights are saved in float16. Both sides read them into float32; the promise is 1e-5.
- **bfloat16**: Encoderscope computes in bfloat16 with weights rounded to it; attention maps follow in float32. In
  brackets: transformers itself in bfloat16. This is not a promise: numbers of about 1 have two to three digits there.

Images are prepared as the checkpoint's own processor does, within 1e-4; sounds as its feature extractor does, within
1e-4. Tests compare both (tests/load). `encoderscope models` has every family in float64 and float32.

| family | checkpoint | float32 | float16 file | bfloat16 |
|---|---|---|---|---|
"""
PIXELS = torch.randn(2, 3, 24, 24, generator=torch.Generator().manual_seed(0))
SOUND = sounds.tone(0.4)
POST, PRE = "post-norm", "pre-norm"
#: Inputs for each decoder.
OUTPUTS = 100


@dataclass(frozen=True)
class Row:
    """A checkpoint: its family for people and its kind, what makes the reference, and what it is run on."""

    family: str
    kind: str
    make: Callable[[], nn.Module]
    write: Callable[[nn.Module, Path], Path]
    run: Callable[[Any, Any, torch.dtype], tuple[list[Tensor], list[Tensor]]]


def plain_write(model: nn.Module, folder: Path) -> Path:
    """save_pretrained; images and sounds need no tokenizer."""
    return reference.write(model, folder, None)


def numbers(trace: encoder.Trace, found: Any, index: int = 0) -> tuple[list[Tensor], list[Tensor]]:
    """Streams and maps, ours and theirs. The last stream of the reference may be normed or not: it is left out."""
    n, layers = trace.n_real, range(trace.config.n_layers)
    ours = [trace.values["embedding" if layer == 0 else f"layers.{layer - 1}.after_ffn"][:n] for layer in layers]
    ours += [trace.layer_attention(layer)[:, :n, :n] for layer in layers]
    theirs = [found.hidden_states[layer][index, :n] for layer in layers]
    theirs += [found.attentions[layer][index, :, :n, :n] for layer in layers]
    return ours, theirs


def of_images(model: Any, theirs: Any, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    """An ImageEncoder and the reference on the same pixels."""
    states = {"output_hidden_states": True, "output_attentions": True}
    found = theirs(pixel_values=PIXELS[:1].to(dtype), **states)
    trace = model.trace_image(PIXELS[0])
    ours, expected = numbers(trace, found)
    if model.classifier is not None:
        ours.append(torch.tensor(list(model.probabilities(trace).values())))
        expected.append(found.logits[0].float().softmax(-1))
    elif model.vector_head is not None:
        vector = found.get("image_embeds", found.get("pooler_output"))
        ours.append(model.vector_of(trace)), expected.append(vector[0])
    elif "last_hidden_state" in found:
        unnormed = trace.config.embedding_norm and trace.config.patches.cls  # CLIP
        ours.append(trace.values["final_norm.input"] if unnormed else trace.output)
        expected.append(found.last_hidden_state[0])
    return ours, expected


def of_sounds(model: Any, theirs: Any, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    """An AudioEncoder and the reference on the same sound."""
    found = sounds.run(theirs, model.prepare(SOUND)[None].to(dtype))
    trace = model.trace(SOUND)
    ours, expected = numbers(trace, found)
    if model.classifier is not None:
        ours.append(torch.tensor(list(model.probabilities(trace).values())))
        logits = theirs(model.prepare(SOUND)[None].to(dtype)).logits
        expected.append(logits[0].float().softmax(-1))
    elif "last_hidden_state" in found:
        ours.append(trace.output), expected.append(found.last_hidden_state[0])
    return ours, expected


def of_texts(model: Any, theirs: Any, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    """A tower of texts and the reference on the same text."""
    text = joints.TEXTS[2]
    found = theirs(**joints.ids_of(model, [text]), output_hidden_states=True, output_attentions=True)
    ours, expected = numbers(model.trace(text), found) if "hidden_states" in found else ([], [])
    ours.append(model.embed(text)[0]), expected.append(found.get("text_embeds", found.get("pooler_output"))[0])
    return ours, expected


def of_pairs(model: Any, theirs: Any, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    """Both towers and the reference: vectors of norm 1 and probabilities, maps and streams of both."""
    states = {"output_hidden_states": True, "output_attentions": True}
    ids = joints.ids_of(model.text, joints.TEXTS[:1])
    found = theirs(**ids, pixel_values=PIXELS[:1].to(dtype))
    text, image = model.text.trace(joints.TEXTS[0]), model.image.trace_image(PIXELS[0])
    ours, expected = numbers(text, theirs.text_model(**ids, **states))
    more, others = numbers(image, theirs.vision_model(PIXELS[:1].to(dtype), **states))
    ours += [*more, model.text_vector(text), model.image_vector(image)]
    expected += [*others, found.text_embeds[0], found.image_embeds[0]]
    return ours, expected


def of_pages(model: Any, theirs: Any, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    """A model of texts and pages and the reference on the same page: its output, or ColBERT's vectors, and maps."""
    given, reader = pages.page(*pages.PAGES[0]), model.image
    fitted = reader.fitted(given)
    sentence = reader.sentence(*(length // pages.TILE for length in fitted.shape[1:]))
    tiles = reader.tiles(fitted)[None].to(dtype)
    found = theirs(input_ids=torch.tensor([sentence.ids]), pixel_values=tiles, output_attentions=True)
    trace = reader.trace(given)
    output = trace.output if model.compares != "MaxSim" else reader.token_vectors(trace.output)
    expected = found.get("embeddings", found.get("last_hidden_state"))[0]
    layers = range(trace.config.n_layers)
    return [output, *map(trace.layer_attention, layers)], [expected, *(found.attentions[layer][0] for layer in layers)]


def rows() -> Iterator[Row]:
    """Every row of the table."""
    images = (
        ("ViT", "ViT", {}),
        ("DeiT", "DeiT", {}),
        ("DINOv2", "Dinov2", {}),
        ("DINOv2, SwiGLU", "Dinov2", {"use_swiglu_ffn": True}),
        ("DINOv2, registers", "Dinov2WithRegisters", {"num_register_tokens": 3}),
    )
    for family, name, fields in images:
        for head in ("Model", "ForImageClassification") if name in ("ViT", "DeiT") else ("Model",):
            more = {**fields, **({"num_labels": 7} if head != "Model" else {})}
            yield Row(family, f"{name}{head}", _image(name, head, more), plain_write, of_images)
    named = {
        "ast": "AST",
        "whisper": "Whisper",
        "wav2vec2": f"Wav2Vec2, {POST}",
        "wav2vec2-stable": f"Wav2Vec2, {PRE}",
        "hubert": f"HuBERT, {POST}",
        "hubert-stable": f"HuBERT, {PRE}",
        "wav2vec2-conformer": "Wav2Vec2-Conformer",
        "wav2vec2-bert": "Wav2Vec2-BERT",
        "parakeet": "Parakeet",
    }
    for family, title in named.items():
        head = "ForSequenceClassification" if family[0] in "wh" and family != "whisper" else "ForAudioClassification"
        for kind, fields in (("Model", {}), (head, {"num_labels": 7}), (head, {"num_labels": 7, SUMMED: True})):
            if (SUMMED in fields and family == "ast") or (fields and family == "parakeet"):
                continue
            what = f"{sounds.FAMILIES[family][0]}{kind}{', all layers' if SUMMED in fields else ''}"
            what = what.replace("EncoderModel", "Encoder")  # Parakeet's, by itself
            yield Row(title, what, _sound(family, kind, fields), plain_write, of_sounds)
    titles = (
        ("clip", "CLIP"),
        ("clip-gelu", "CLIP, GELU"),
        ("chinese-clip", "Chinese-CLIP"),
        ("metaclip2", "MetaCLIP 2"),
        ("owlvit", "OWL-ViT"),
        ("owlv2", "OWLv2"),
        ("aimv2", "AIMv2"),
        ("aimv2-native", "AIMv2, native"),
        ("siglip", "SigLIP"),
        ("siglip2", "SigLIP 2"),
    )
    for family, title in titles:
        heads = {
            "Model": of_pairs,
            "TextModel": of_texts,
            "VisionModel": of_images,
            "ForImageClassification": of_images,
        }
        if family == "chinese-clip":  # these have no other classes
            heads = {"Model": of_pairs, "VisionModel": of_images}
        elif family.startswith(("owl", "aimv2")):
            heads.pop("ForImageClassification")
        elif not family.startswith("siglip"):
            heads |= {"TextModelWithProjection": of_texts, "VisionModelWithProjection": of_images}
        for head, run in heads.items():
            more = {"num_labels": 7} if head == "ForImageClassification" else {}
            yield Row(title, f"{joints.FAMILIES[family][0]}{head}", _joint(family, head, more), _writer(family), run)
    yield Row("ViT", "ViTForImageClassification, as timm writes it", timm_files.model_of, timm_files.write, of_images)
    for title, kind, head in (
        ("ModernVBERT", "ModernVBert", "Model"),
        ("ColModernVBERT", "ColModernVBert", "ForRetrieval"),
    ):
        yield Row(title, f"{kind}{head}, a page", partial(pages.model_of, kind), pages.write, of_pages)


SUMMED = "use_weighted_layer_sum"


def _image(name: str, head: str, more: dict[str, Any]) -> Callable[[], nn.Module]:
    return lambda: reference.image_model_of(name, head, 3, **more)


def _sound(family: str, head: str, more: dict[str, Any]) -> Callable[[], nn.Module]:
    return lambda: sounds.model_of(family, head, 3, **more)


def _joint(family: str, head: str, more: dict[str, Any]) -> Callable[[], nn.Module]:
    return lambda: joints.model_of(family, head, **more)


def _writer(family: str) -> Callable[[nn.Module, Path], Path]:
    return lambda model, folder: joints.write(model, folder, family)


@torch.no_grad()
def difference(row: Row, file: str = "float32", computed: str = "float32") -> tuple[float, float]:
    """(ours - transformers in float32, transformers in `computed` - in float32), the largest of each.

    file: the number type of the weights on disk.
    """
    stored = row.make().to(DISK_TYPES[file])
    with tempfile.TemporaryDirectory() as place:
        folder = row.write(stored, Path(place) / "model")
        model = encoder.load(folder, device="cpu", dtype=computed)
    theirs = row.make()
    theirs.load_state_dict(stored.float().state_dict())  # tables of rotations stay those of float32
    ours, expected = row.run(model, theirs, torch.float32)
    low = expected
    if computed != "float32":
        dtype = DISK_TYPES[computed]
        low = row.run(model, row.make().to(dtype), dtype)[1]
    return _largest(ours, expected), _largest(low, expected)


def _largest(some: list[Tensor], others: list[Tensor]) -> float:
    pairs = zip(some, others, strict=True)
    return max(float((a.float() - b.float()).abs().max()) for a, b in pairs)


def line(row: Row) -> str:
    """A row of the table, measured."""
    full, half = difference(row)[0], difference(row, file="float16")[0]
    ours, theirs = difference(row, computed="bfloat16")
    return f"| {row.family} | {row.kind} | {full:.0e} | {half:.0e} | {ours:.2f} ({theirs:.2f}) |\n"


def mechanisms(config: EncoderConfig) -> tuple[str, ...]:
    """The mechanisms of an architecture, in words, in the order of the forward pass."""
    windows = config.attention_window
    rotary, bases = config.position == "rotary", config.rotary_base
    of_video = config.patches is not None and config.patches.frames > 0
    words = {
        f"{config.position} positions": config.position in ("learned", "sinusoidal", "convolutional"),
        "ALiBi": config.position == "alibi",
        "rotary rows and columns": rotary and config.rotary_grid and not of_video,
        "rotary time, rows and columns": rotary and config.rotary_grid and of_video,
        "rotary positions": rotary and not config.rotary_grid and not config.rotary_input,
        "table of rotations": config.rotary_table,
        "rotation before q and k": config.rotary_input,
        "partial rotary": rotary and config.rotary_width < config.d_head,
        "neighbours rotate": rotary and config.rotary_interleaved,
        "scaled frequencies": rotary and config.rotary_scaling is not None,
        "several rotary bases": rotary and isinstance(bases, tuple) and len(set(bases)) > 1,
        f"{config.norm_placement}-norm": True,
        NORM_NAMES[config.norm_kind]: True,
        "four norms a layer": config.output_norms,
        "parallel sublayers": config.parallel,
        "causal": config.causal,
        "grouped-query attention": config.n_kv_heads < config.n_heads,
        "norms without gains": not config.norm_gain,
        "norm of q and k by head": config.qk_norm == "head",
        "norm of q and k": config.qk_norm == "full",
        "windows": any(windows) if isinstance(windows, tuple) else windows is not None,
        "boxes on a page": config.boxes is not None,
        "paths in a page's tree": isinstance(config.places, Paths),
        "stream of boxes": config.beside is not None,
        "bias by distance on a page": config.boxes is not None and config.boxes.buckets > 0,
        "bias by rows and columns": config.relative_grid,
        "bias by distance": config.table_rows > 0 and not config.relative_grid,
        "gated bias": config.relative_gate,
        "merged steps": config.merged_steps > 1,
        "keys of distances by sines": config.distance_keys is not None and not config.distance_keys.rows,
        "keys of clipped distances": config.distance_keys is not None and config.distance_keys.rows > 0,
        "disentangled attention": config.disentangled is not None,
        "learned sinks": config.attention_sinks,
        "gated output": config.output_gate,
        "capped scores": config.score_cap is not None,
        "gated FFN": config.gated,
        "experts": config.experts is not None and config.experts.layers is None,
        "experts in some layers": config.experts is not None and config.experts.layers is not None,
        "adapters": config.adapter > 0,
        "convolution in each layer": config.conformer is not None,
        "wide convolution": config.conformer is not None and config.conformer.expansion > 1,
        "letters of the middle layer": config.letters_layer is not None,
        "attention in blocks": config.attention_block > 0,
        "causal convolution": config.conformer is not None and config.conformer.causal,
        "shared layers": config.layer_groups is not None,
        "narrow tables": config.embedding_width != config.d_model,
        "scaled token vectors": config.embedding_scale != 1.0,
        "rescaled for masked tokens": config.mask_id is not None,
        "tubelets": of_video,
        "registers": config.patches is not None and config.patches.registers > 0,
        "norm of patches": config.patches is not None and config.patches.norm,
        "detection tokens": config.patches is not None and config.patches.detection > 0,
        "positions in each layer": config.layer_positions,
    }
    return tuple(word for word, there in words.items() if there)


def registry() -> dict[str, Any]:
    """Every case of tests/load/every_family, the largest difference of each model_type."""
    import transformers

    found: dict[str, dict[str, Any]] = {}
    for case in every_family.ALL.values():
        model_type = case.model_type
        both = [every_family.differences(case, dtype) for dtype in (torch.float64, torch.float32)]
        figures = [[one.output, one.maps, one.gradient] for one in both]
        with tempfile.TemporaryDirectory() as place:
            model = encoder.load(every_family.write(case, case.make(), Path(place) / "model"), device="cpu")
        row = found.setdefault(model_type, {"family": case.title, "model_type": model_type, "mechanisms": []})
        row["mechanisms"] += [one for one in mechanisms(model.config) if one not in row["mechanisms"]]
        for name, some in zip(("float64", "float32"), figures, strict=True):
            before = row.get(name, [0.0] * 3)
            row[name] = [float(f"{max(pair):.0e}") for pair in zip(before, some, strict=True)]
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    rows = sorted(found.values(), key=lambda row: row["family"].lower())
    return {"versions": versions, "rows": rows, "decoders": written()}


def written() -> list[dict[str, Any]]:
    """Every case of tests/load/decoders: differences, and outputs for OUTPUTS inputs, greedy and of four beams."""
    import transformers

    found: dict[str, dict[str, Any]] = {}
    for case in decoders.CASES.values():
        model_type = getattr(transformers, f"{case.kind}Config").model_type
        row = found.setdefault(model_type, {"family": case.title, "model_type": model_type, "equal": 0, "outputs": 0})
        for kind in (torch.float64, torch.float32):
            key = str(kind).removeprefix("torch.")
            figures = [float(f"{one:.0e}") for one in decoders.differences(case, kind)]
            row[key] = list(map(max, figures, row.get(key, figures)))
        with decoders.pair(case) as both:
            for seed in range(OUTPUTS):
                text = both.text(seed, 3 + seed % 12)
                for beams in (1, 4):
                    ours, theirs = decoders.generated(both, text, 10, beams)
                    row["equal"] += ours == theirs
                    row["outputs"] += 1
    return sorted(found.values(), key=lambda row: str(row["family"]).lower())


def write_registry() -> None:
    """measured.json."""
    MEASURED.write_text(json.dumps(registry(), indent=1) + "\n", encoding="utf-8")


def main() -> None:
    torch.set_num_threads(1)
    write_registry()
    FILE.write_text(HEAD + "".join(line(row) for row in rows()), encoding="utf-8")


if __name__ == "__main__":
    main()

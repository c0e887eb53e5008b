"""From checkpoints to the files that ship: encoder/data/twin-pre, encoder/data/twin-post, encoder/data/curves.parquet.

Each twin's folder holds float16 safetensors, config.json, tokenizer.json and MODEL_CARD.md with the figures below.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from encoder.checkpoints import load, save
from encoder.encoders.text import TextEncoder
from encoder.model.encoder import Encoder
from encoder.trace.capture import record
from encoder.train.curves import DATA, FILE
from recipes.twins.batches import single_rows
from recipes.twins.checkpoint import RunState, read_checkpoint
from recipes.twins.corpus import Prepared, prepare, write_atomically
from recipes.twins.mlm import MaskedWordModel, TrainingRun, evaluate, held_out_batches, unigram_baseline
from recipes.twins.recipe import MAIN, recipes

#: Examples of the model card, with the answers of each twin.
EXAMPLES = (
    "a large [MASK] that lives in the sea",
    "the [MASK] of a country",
    "United States [MASK] born in 1899",
    "the children [MASK] in the garden.",
    "The cat sat on the [MASK].",
)


def finish(work: Path, out: Path | None = None) -> list[Path]:
    """Write every twin whose run is done, and the curves of all runs. Returns the folders of the twins."""
    out = DATA if out is None else out
    data = prepare(work / "corpus")
    states: dict[str, tuple[RunState, dict[str, Any]]] = {}
    for name in recipes():
        if (work / f"{name}.safetensors").is_file():
            _, state, fields = read_checkpoint(work / f"{name}.safetensors")
            states[name] = state, fields
    out.mkdir(parents=True, exist_ok=True)
    write_curves(states, out / FILE)
    written = []
    for name in MAIN:
        if name not in states or states[name][0].status != "done":
            where = "has no checkpoint" if name not in states else f"is at step {states[name][0].step}"
            print(f"{name} {where}: not written. Train it with python -m recipes.twins --work {work}")
            continue
        written.append(write_twin(name, work, data, out))
    return written


def write_curves(states: dict[str, tuple[RunState, dict[str, Any]]], path: Path) -> None:
    """Write all curves as one table; see encoder.train.curves for its columns.

    Runs of an earlier table at `path` stay unless `states` has them: the variants need not be trained again.
    """
    frames = []
    if path.is_file():
        old = pd.read_parquet(path)
        frames = [old[~old.run.isin(list(states))]]
    for name, (state, fields) in states.items():
        about = {key: fields[key] for key in ("norm_placement", "n_layers", "d_model", "warmup_steps")}
        frames.append(pd.DataFrame(state.rows).assign(run=name, **about, status=state.status))
    if not frames:
        return
    curves = pd.concat(frames, ignore_index=True)
    for column in ("held_out_loss", "held_out_accuracy"):
        if column not in curves:
            curves[column] = np.nan
    floats = curves.select_dtypes("float64").columns
    write_atomically(path, curves.astype(dict.fromkeys(floats, "float32")).to_parquet(index=False))


def write_twin(name: str, work: Path, data: Prepared, out: Path) -> Path:
    """Write the float16 folder of one twin, and measure these stored weights for the card."""
    run = TrainingRun(recipes()[name], data, work)
    folder = save(run.text_encoder(), out / name, dtype="float16", layout="encoderscope")
    model = load(folder, device="cpu")
    assert isinstance(model, TextEncoder)
    assert model.mlm_head is not None
    shipped = MaskedWordModel(model.config)
    shipped.encoder.load_state_dict(model.encoder.state_dict())
    shipped.head.load_state_dict(model.mlm_head.state_dict())
    figures = measure(shipped, data, run)
    answers = {text: model.predict_masked(model.trace(text), 3)[0] for text in EXAMPLES}
    card = model_card(run, figures, answers, data)
    write_atomically(folder / "MODEL_CARD.md", card.encode())
    write_atomically(folder / "figures.json", (json.dumps(dataclasses.asdict(figures), indent=2) + "\n").encode())
    print(f"{name}: held-out accuracy {figures.accuracy:.3f} (unigram {figures.unigram_accuracy:.3f}) -> {folder}")
    return folder


# --- what is measured -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """The shipped weights on all held-out sentences."""

    n_masked: int
    loss: float
    accuracy: float
    unigram_loss: float
    unigram_accuracy: float
    n_parameters: int
    #: Mean weight on the token before, [layer][head].
    previous: list[list[float]]
    #: Mean weight on the token after, [layer][head].
    following: list[list[float]]


def measure(model: MaskedWordModel, data: Prepared, run: TrainingRun) -> Figures:
    """All figures of the card."""
    held_out = held_out_batches(data.held_out, run.special, longest=run.recipe.max_positions)
    loss, accuracy = evaluate(model, held_out)
    base_loss, base_accuracy = unigram_baseline(data.train, held_out, data.tokenizer.vocab_size)
    rows = [
        single_rows(data.held_out, np.flatnonzero(data.held_out.lengths == length), int(length), run.special)
        for length in range(6, 25)
    ]
    previous, following = neighbour_weights(model.encoder, [torch.from_numpy(ids) for ids in rows if len(ids)])
    n_masked = sum(len(words) for _, _, words in held_out)
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    return Figures(
        n_masked=n_masked,
        loss=loss,
        accuracy=accuracy,
        unigram_loss=base_loss,
        unigram_accuracy=base_accuracy,
        n_parameters=n_parameters,
        previous=previous.tolist(),
        following=following.tolist(),
    )


@torch.no_grad()
def neighbour_weights(encoder: Encoder, batches: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean attention of each head on the previous and on the next token: [L, H] each.

    batches: ids [B, T], [CLS] first and [SEP] last. The mean is over all other tokens, which have both neighbours.
    """
    config = encoder.config
    sums = torch.zeros(2, config.n_layers, config.n_heads, dtype=torch.float64)
    count = 0
    for ids in batches:
        with record() as recorder:
            encoder(ids)
        for context in encoder.attention_contexts(ids, None):
            q, k = (recorder.values[f"layers.{context.layer}.{name}"] for name in "qk")
            pattern = context.pattern(context.scores(q, k))[..., 1:-1, :]
            # Row r is query r + 1 here: its previous token is key r, its next token key r + 2.
            sums[0, context.layer] += pattern.diagonal(0, -2, -1).sum(dim=(0, 2))
            sums[1, context.layer] += pattern.diagonal(2, -2, -1).sum(dim=(0, 2))
        count += ids.shape[0] * (ids.shape[1] - 2)
    previous, following = sums / count
    return previous, following


# --- the card ---------------------------------------------------------------------------------------------------------


def model_card(run: TrainingRun, figures: Figures, answers: dict[str, Any], data: Prepared) -> str:
    """MODEL_CARD.md of one twin."""
    recipe, state = run.recipe, run.state
    strongest = "\n".join(f"| {what} | {head} | {weight:.2f} |" for what, head, weight in strongest_heads(figures))
    words = "\n".join(
        f"| {text} | {', '.join(f'{token} {p:.2f}' for token, p in zip(a.tokens, a.probabilities, strict=True))} |"
        for text, a in answers.items()
    )
    curve = "\n".join(
        f"| {row['step']:,} | {row['loss']:.2f} | {row['held_out_loss']:.2f} | {row['held_out_accuracy']:.3f} |"
        for row in thinned([row for row in state.rows if "held_out_accuracy" in row])
    )
    values = (
        dataclasses.asdict(recipe)
        | dataclasses.asdict(figures)
        | {
            "placement": recipe.norm_placement,
            "other": "post" if recipe.norm_placement == "pre" else "pre",
            "final_norm": " and after the last layer" if recipe.norm_placement == "pre" else "",
            "vocab_size": data.tokenizer.vocab_size,
            "n_words": data.n_words,
            "n_train": len(data.train),
            "n_held_out": len(data.held_out),
            "fingerprint": data.fingerprint,
            "step": state.step,
            "million_tokens": state.tokens / 1e6,
            "minutes": state.seconds / 60,
            "curve": curve,
            "strongest": strongest,
            "words": words,
        }
    )
    return Path(__file__).with_name("model_card.md").read_text(encoding="utf-8").format(**values)


def strongest_heads(figures: Figures) -> list[tuple[str, str, float]]:
    """(what, "L0 H2", mean weight) of the head that attends most to the previous token, and to the next token."""
    found = []
    for what, weights in (("on the previous token", figures.previous), ("on the next token", figures.following)):
        table = np.array(weights)
        layer, head = np.unravel_index(table.argmax(), table.shape)
        found.append((what, f"L{layer} H{head}", float(table.max())))
    return found


def thinned(rows: list[dict[str, float]], most: int = 12) -> list[dict[str, float]]:
    """About `most` rows at equal distances, and always the last."""
    every = -(-len(rows) // most) if rows else 1
    kept = rows[every - 1 :: every]
    return kept if not rows or kept[-1] is rows[-1] else [*kept, rows[-1]]

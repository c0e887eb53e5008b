"""Masked-language-model training (Devlin et al. 2019, 3.1): the model, its held-out measures, the run.

All random numbers are derived from (seed, epoch) or (seed, step). So two runs of the same seed see the same batches
with the same masks, whatever their norm placement, and a stopped run continues as if it had not been stopped.

Shapes: B rows of a batch, T tokens of a row, n masked tokens, D d_model, V vocabulary.
"""

import dataclasses
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, initialise
from encoder.model.mlm import MLMHead
from recipes.twins.batches import IGNORE, Special, batches_from, mask_tokens, single_rows
from recipes.twins.checkpoint import RunState, read_checkpoint, restore, save_checkpoint
from recipes.twins.corpus import Encoded, Prepared
from recipes.twins.recipe import TrainingRecipe

# --- the model --------------------------------------------------------------------------------------------------------


class MaskedWordModel(nn.Module):
    """An encoder and its masked-word head, which shares the token table."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.head = MLMHead(config)

    def forward(self, ids: Tensor, chosen: Tensor) -> Tensor:
        """ids [B, T]; chosen [n], indices into B x T -> logits [n, V] of the chosen tokens."""
        output = self.encoder(ids).flatten(0, 1)[chosen]  # [n, D]
        logits: Tensor = self.head(output, self.encoder.embedding.tokens.weight)
        return logits


def new_model(config: EncoderConfig, seed: int) -> MaskedWordModel:
    """Random weights from the seed, the same in both placements.

    Linear maps as in Glorot and Bengio 2010, tables N(0, 1/D). The token table is also the output matrix: with N(0, 1)
    the first logits would have a standard deviation of sqrt(D).
    """
    model = MaskedWordModel(config)
    initialise(model.encoder, seed)
    initialise(model.head.dense, seed + 1)
    with torch.no_grad():
        for module in model.encoder.modules():
            if isinstance(module, nn.Embedding):
                module.weight.mul_(module.weight.shape[1] ** -0.5)
    return model


def new_optimiser(model: nn.Module, recipe: TrainingRecipe) -> torch.optim.AdamW:
    """AdamW (Loshchilov and Hutter 2019); weights of linear maps and tables decay, biases and norms do not."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98), eps=1e-8, fused=True)


# --- held-out measures ------------------------------------------------------------------------------------------------


#: Batches of (ids with every chosen token replaced by [MASK], indices of these tokens, their words).
HeldOut = list[tuple[Tensor, Tensor, Tensor]]


def held_out_batches(
    data: Encoded, special: Special, *, longest: int, seed: int = 0, share: float = 0.15, every: int = 1
) -> HeldOut:
    """Select a share of the tokens of every `every`-th held-out sentence, always the same, and replace all by [MASK].

    This is the task of `predict_masked`. It is harder than training, where a tenth of the selected tokens stay.
    """
    draw = np.random.default_rng([seed, 3])
    sentences = np.arange(0, len(data), every)
    lengths = np.minimum(data.lengths, longest - 2)[sentences]
    batches: HeldOut = []
    for length in np.unique(lengths):
        rows = single_rows(data, sentences[lengths == length], int(length), special)
        chosen = (draw.random(rows.shape) < share) & (rows >= special.n_special)
        if not chosen.any():
            continue
        hidden = np.where(chosen, special.mask, rows)
        batches.append(
            (torch.from_numpy(hidden), torch.from_numpy(np.flatnonzero(chosen)), torch.from_numpy(rows[chosen]))
        )
    return batches


@torch.no_grad()
def evaluate(model: MaskedWordModel, held_out: HeldOut) -> tuple[float, float]:
    """(mean loss in nats, share of the masked tokens whose most probable word is right)."""
    was_training = model.training
    model.eval()
    device = model.encoder.device
    loss, right, total = 0.0, 0, 0
    for ids, chosen, words in held_out:
        logits = model(ids.to(device), chosen.to(device)).float()
        words = words.to(device)
        loss += float(F.cross_entropy(logits, words, reduction="sum"))
        right += int((logits.argmax(-1) == words).sum())
        total += len(words)
    model.train(was_training)
    return loss / total, right / total


def unigram_baseline(train: Encoded, held_out: HeldOut, vocab_size: int) -> tuple[float, float]:
    """(loss in nats, accuracy) of guessing by the word frequency of the training part, one added to each count."""
    counts = np.bincount(train.ids, minlength=vocab_size).astype(np.float64) + 1.0
    words = torch.cat([words for _, _, words in held_out]).numpy()
    return float(-np.log(counts / counts.sum())[words].mean()), float((words == counts.argmax()).mean())


# --- the run ----------------------------------------------------------------------------------------------------------


#: Takes a row of the curve: step, tokens, seconds, loss in nats, learning_rate, gradient_norm, held-out measures.
Report = Callable[[dict[str, float]], None]


class TrainingRun:
    """One run of a recipe, new or from its checkpoint; `train` continues it."""

    def __init__(
        self, recipe: TrainingRecipe, data: Prepared, folder: Path, device: torch.device | str = "cpu"
    ) -> None:
        self.recipe, self.data, self.folder = recipe, data, folder
        self.device = torch.device(device)
        self.special = Special.of(data.tokenizer)
        self.held_out = held_out_batches(data.held_out, self.special, longest=recipe.max_positions, every=2)
        self.model = new_model(recipe.config(data.tokenizer), recipe.seed).to(self.device)
        self.optimiser = new_optimiser(self.model, recipe)
        self.state = RunState()
        if self.checkpoint.is_file():
            tensors, state, fields = read_checkpoint(self.checkpoint)
            if fields != json.loads(json.dumps(dataclasses.asdict(recipe))):
                raise EncoderError(
                    f"{self.checkpoint} has another recipe than {recipe.name} now: remove it to start again."
                )
            restore(tensors, self.model, self.optimiser)
            self.state = state

    @property
    def checkpoint(self) -> Path:
        """The file of the run's checkpoint."""
        return self.folder / f"{self.recipe.name}.safetensors"

    @property
    def finished(self) -> bool:
        """Whether all steps are taken, or the run diverged."""
        return self.state.status not in ("running", "stopped")

    def step(self, ids: np.ndarray, rate: float) -> tuple[Tensor, Tensor]:
        """One update. ids [B, T] -> (loss, norm of the gradient before clipping), both on the device."""
        draw = np.random.default_rng([self.recipe.seed, 2, self.state.step])
        inputs, labels = mask_tokens(ids, draw, self.special, self.data.tokenizer.vocab_size, self.recipe.mask_share)
        chosen = torch.from_numpy(np.flatnonzero(labels != IGNORE)).to(self.device)
        words = torch.from_numpy(labels[labels != IGNORE]).to(self.device)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            logits = self.model(torch.from_numpy(inputs).to(self.device), chosen)
        loss = F.cross_entropy(logits.float(), words)
        torch.autograd.backward(loss)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip_norm)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.state.step += 1
        self.state.tokens += ids.size
        return loss.detach(), norm.detach()

    def train(self, report: Report | None = None, stop: Callable[[], bool] | None = None) -> RunState:
        """Train to the last step, or until `stop()` is true; the checkpoint on disk is always whole.

        report: called with each new row of the curve. A loss that is not finite does not raise: the status names its
        step.
        """
        if self.finished:
            return self.state
        recipe, state = self.recipe, self.state
        state.status = "running"
        self.model.train()
        losses: list[Tensor] = []
        norms: list[Tensor] = []
        began = time.perf_counter()
        for ids in batches_from(self.data.train, recipe, self.special, state.step):
            if state.step >= recipe.last_step:
                state.status = "done"
                break
            loss, norm = self.step(ids, recipe.rate(state.step))
            losses.append(loss)
            norms.append(norm)
            if state.step % recipe.record_every == 0 or state.step == recipe.last_step:
                state.seconds += time.perf_counter() - began
                self._record(losses, norms)
                if report is not None:
                    report(state.rows[-1])
                began, losses, norms = time.perf_counter(), [], []
                if self.finished:
                    break
                if stop is not None and stop():
                    state.status = "stopped"
                    break
                if state.step % recipe.checkpoint_every == 0:
                    self.save()
        self.save()
        return state

    def _record(self, losses: list[Tensor], norms: list[Tensor]) -> None:
        """Add a row to the curve: means over the steps since the last row."""
        recipe, state = self.recipe, self.state
        loss = float(torch.stack(losses).mean())
        row = {
            "step": state.step,
            "tokens": state.tokens,
            "seconds": state.seconds,
            "loss": loss,
            "learning_rate": recipe.rate(state.step - 1),
            "gradient_norm": float(torch.stack(norms).mean()),
        }
        if not math.isfinite(loss):
            state.status = f"diverged at step {state.step}: loss is not finite"
        elif state.step % recipe.evaluate_every == 0 or state.step == recipe.last_step:
            row["held_out_loss"], row["held_out_accuracy"] = evaluate(self.model, self.held_out)
        state.rows.append({key: value for key, value in row.items() if math.isfinite(value)})  # JSON has no NaN

    def save(self) -> None:
        """Write the checkpoint, atomically."""
        save_checkpoint(self.checkpoint, self.model, self.optimiser, self.state, self.recipe)

    def text_encoder(self) -> TextEncoder:
        """The model as it is now, with its tokenizer."""
        return TextEncoder(
            name=self.recipe.name, encoder=self.model.encoder, tokenizer=self.data.tokenizer, mlm_head=self.model.head
        )

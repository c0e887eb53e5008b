"""Ten tasks of research next to TransformerLens and nnsight, on the same weights: lines, time, memory.

`python -m benchmarks.research [--rounds N] [--tokens T]`. Each task is a function for each tool, written as its users
would; all three must give the same numbers, or the run fails. Lines are those of the function and of what it calls in
this file. Time is the median of some rounds, the tools in turn; memory is the peak of tensors (`memory.tensor_bytes`),
without the weights. nnsight and TransformerLens run eager attention, this package fused attention.

Sources of the tasks: maps, entropy: Clark et al. 2019; scores: Vig 2019; residual stream: Elhage et al. 2021;
norm-weighted attention: Kobayashi et al. 2020; rollout: Abnar and Zuidema 2020; each head off: Michel et al. 2019;
patching: Meng et al. 2022; sentence vectors: Reimers and Gurevych 2019; cosines by layer: Ethayarajh 2019.

Shapes: L layers, H heads, T tokens, K width of a head, D d_model, N texts.
"""

import argparse
import inspect
import re
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

import encoder
from benchmarks import lens, memory, subjects, timing
from encoder import causal, measure

CLEAN, CORRUPTED = "The cat sat on the mat and slept.", "The dog sat on the mat and slept."
TOLERANCE = 1e-3
TOOLS = ("encoderscope", "TransformerLens", "nnsight")
PAIR = subjects.minilm()
MODEL, REFERENCE, CONFIG = PAIR.ours, PAIR.eager, PAIR.ours.config
LAYERS, HEADS, WIDTH = range(CONFIG.n_layers), range(CONFIG.n_heads), CONFIG.d_head
TEXTS = [part.strip() + "." for part in subjects.PROSE.split(".") if part.strip()]


def ids_of(text: str) -> Tensor:
    return torch.tensor([MODEL.tokenize(text).ids])


def entropy(maps: Tensor) -> Tensor:
    """[..., T, T] -> mean entropy of the rows in nats."""
    return -(maps * maps.clamp(min=1e-30).log()).sum(-1).mean(-1)


def cosine(output: Tensor, plain: Tensor) -> Tensor:
    """Of the mean vectors of two runs [T, D]."""
    return torch.cosine_similarity(output.mean(-2), plain.mean(-2), dim=-1)


def mean_cosine(vectors: Tensor) -> Tensor:
    """Of all pairs among vectors [n, D]."""
    unit = torch.nn.functional.normalize(vectors, dim=-1)
    return ((unit @ unit.T).sum() - len(unit)) / (len(unit) * (len(unit) - 1))


# --- this package -----------------------------------------------------------------------------------------------------


def our_maps(text: str) -> Tensor:
    return MODEL.trace(text).every_layer()[1]


def our_scores(text: str) -> Tensor:
    return MODEL.trace(text).every_layer()[0]


def our_entropy(text: str) -> np.ndarray:
    return measure.heads(MODEL.trace(text))["entropy"]


def our_stream(text: str) -> Tensor:
    trace = MODEL.trace(text)
    return torch.stack([trace.before_layer(layer) for layer in range(CONFIG.n_layers + 1)])


def our_norm_weighted(text: str) -> Tensor:
    trace = MODEL.trace(text)
    return torch.stack([measure.norm_weighted(trace, layer, head) for layer in LAYERS for head in HEADS])


def our_rollout(text: str) -> Tensor:
    return measure.rollout(MODEL.trace(text), CONFIG.n_layers - 1)


def our_ablation(text: str) -> Tensor:
    return causal.ablate_each_head(MODEL, text)


def our_patching(text: str) -> Tensor:
    return causal.patch(MODEL, CLEAN, CORRUPTED)


def our_vectors(text: str) -> Tensor:
    return MODEL.embed(TEXTS)


def our_anisotropy(text: str) -> Tensor:
    return torch.stack(
        [mean_cosine(torch.tensor(encoder.vectors(MODEL, TEXTS, layer))) for layer in range(len(LAYERS) + 1)]
    )


# --- TransformerLens --------------------------------------------------------------------------------------------------


def lens_maps(text: str) -> Tensor:
    _, cache = LENS.run_with_cache(ids_of(text))
    return torch.stack([cache[f"blocks.{layer}.attn.hook_pattern"][0] for layer in LAYERS])


def lens_scores(text: str) -> Tensor:
    _, cache = LENS.run_with_cache(ids_of(text))
    q, k = (
        torch.stack([cache[f"blocks.{layer}.attn.hook_{name}"][0] for layer in LAYERS]).transpose(1, 2) for name in "qk"
    )
    return q @ k.mT / WIDTH**0.5


def lens_entropy(text: str) -> Tensor:
    _, cache = LENS.run_with_cache(ids_of(text))
    return entropy(torch.stack([cache[f"blocks.{layer}.attn.hook_pattern"][0] for layer in LAYERS]))


def lens_stream(text: str) -> Tensor:
    _, cache = LENS.run_with_cache(ids_of(text))
    stream = [cache[f"blocks.{layer}.hook_resid_pre"][0] for layer in LAYERS]
    return torch.stack([*stream, cache[f"blocks.{LAYERS[-1]}.hook_resid_post"][0]])


def lens_norm_weighted(text: str) -> Tensor:
    _, cache = LENS.run_with_cache(ids_of(text))
    found = []
    for layer in LAYERS:
        maps, v = cache[f"blocks.{layer}.attn.hook_pattern"][0], cache[f"blocks.{layer}.attn.hook_v"][0]
        out = REFERENCE.encoder.layer[layer].attention.output.dense.weight
        for head in HEADS:
            moved = v[:, head] @ out[:, head * WIDTH : (head + 1) * WIDTH].T
            found.append(maps[head] * moved.norm(dim=-1))
    return torch.stack(found)


def lens_rollout(text: str) -> Tensor:
    _, cache = LENS.run_with_cache(ids_of(text))
    found = torch.eye(ids_of(text).shape[1])
    for layer in LAYERS:
        mean = cache[f"blocks.{layer}.attn.hook_pattern"][0].mean(0)
        found = (0.5 * mean + 0.5 * torch.eye(len(mean))) @ found
    return found


def lens_ablation(text: str) -> Tensor:
    def off(z: Tensor, hook: Any, head: int) -> Tensor:
        z = z.clone()
        z[:, :, head] = 0
        return z

    kept: list[Tensor] = []
    keep = (f"blocks.{LAYERS[-1]}.hook_resid_post", lambda x, hook: kept.append(x[0].clone()))
    LENS.run_with_hooks(ids_of(text), fwd_hooks=[keep])
    for layer in LAYERS:
        for head in HEADS:
            hooks = [(f"blocks.{layer}.attn.hook_z", partial(off, head=head)), keep]
            LENS.run_with_hooks(ids_of(text), fwd_hooks=hooks)
    return torch.stack([cosine(output, kept[0]) - 1 for output in kept[1:]]).view(len(LAYERS), len(HEADS))


def lens_patching(text: str) -> Tensor:
    _, clean = LENS.run_with_cache(ids_of(CLEAN))

    def put(x: Tensor, hook: Any, position: int) -> Tensor:
        x = x.clone()
        x[:, position] = clean[hook.name][:, position]
        return x

    kept: list[Tensor] = []
    keep = (f"blocks.{LAYERS[-1]}.hook_resid_post", lambda x, hook: kept.append(x[0].clone()))
    ids = ids_of(CORRUPTED)
    LENS.run_with_hooks(ids, fwd_hooks=[keep])
    for layer in LAYERS:
        for position in range(ids.shape[1]):
            hooks = [(f"blocks.{layer}.hook_resid_pre", partial(put, position=position)), keep]
            LENS.run_with_hooks(ids, fwd_hooks=hooks)
    return torch.stack([cosine(output, kept[0]) - 1 for output in kept[1:]]).view(len(LAYERS), ids.shape[1])


def lens_vectors(text: str) -> Tensor:
    name, found = f"blocks.{LAYERS[-1]}.hook_resid_post", []
    for one in TEXTS:
        _, cache = LENS.run_with_cache(ids_of(one), names_filter=name)
        found.append(cache[name][0].mean(0))
    return torch.nn.functional.normalize(torch.stack(found), dim=-1)


def lens_anisotropy(text: str) -> Tensor:
    names = [*(f"blocks.{layer}.hook_resid_pre" for layer in LAYERS), f"blocks.{LAYERS[-1]}.hook_resid_post"]
    rows = []
    for one in TEXTS:
        _, cache = LENS.run_with_cache(ids_of(one), names_filter=lambda name: name in names)
        rows.append(torch.stack([cache[name][0].mean(0) for name in names]))
    return torch.stack([mean_cosine(layer) for layer in torch.stack(rows, dim=1)])


# --- nnsight ----------------------------------------------------------------------------------------------------------


def sight_maps(text: str) -> Tensor:
    found = []
    with SIGHT.trace(input_ids=ids_of(text)):
        for layer in LAYERS:
            found.append(SIGHT.encoder.layer[layer].attention.self.output[1].save())
    return torch.stack(found)[:, 0]


def sight_scores(text: str) -> Tensor:
    q, k = [], []
    with SIGHT.trace(input_ids=ids_of(text)):
        for layer in LAYERS:
            q.append(SIGHT.encoder.layer[layer].attention.self.query.output.save())
            k.append(SIGHT.encoder.layer[layer].attention.self.key.output.save())
    q, k = (torch.stack(side)[:, 0].unflatten(-1, (len(HEADS), WIDTH)).transpose(1, 2) for side in (q, k))
    return q @ k.mT / WIDTH**0.5


def sight_entropy(text: str) -> Tensor:
    return entropy(sight_maps(text))


def sight_stream(text: str) -> Tensor:
    found = []
    with SIGHT.trace(input_ids=ids_of(text)):
        found.append(SIGHT.embeddings.output.save())
        for layer in LAYERS:
            found.append(SIGHT.encoder.layer[layer].output.save())
    return torch.stack(found)[:, 0]


def sight_norm_weighted(text: str) -> Tensor:
    maps, values, found = [], [], []
    with SIGHT.trace(input_ids=ids_of(text)):
        for layer in LAYERS:
            values.append(SIGHT.encoder.layer[layer].attention.self.value.output.save())
            maps.append(SIGHT.encoder.layer[layer].attention.self.output[1].save())
    for layer in LAYERS:
        v = values[layer][0].unflatten(-1, (len(HEADS), WIDTH))
        out = REFERENCE.encoder.layer[layer].attention.output.dense.weight
        for head in HEADS:
            moved = v[:, head] @ out[:, head * WIDTH : (head + 1) * WIDTH].T
            found.append(maps[layer][0, head] * moved.norm(dim=-1))
    return torch.stack(found)


def sight_rollout(text: str) -> Tensor:
    found = torch.eye(ids_of(text).shape[1])
    for maps in sight_maps(text):
        found = (0.5 * maps.mean(0) + 0.5 * torch.eye(len(found))) @ found
    return found


def sight_ablation(text: str) -> Tensor:
    ids, found = ids_of(text), []
    with SIGHT.trace(input_ids=ids):
        plain = SIGHT.output.last_hidden_state[0].save()
    for layer in LAYERS:
        for head in HEADS:
            with SIGHT.trace(input_ids=ids):
                SIGHT.encoder.layer[layer].attention.self.output[0][:, :, head * WIDTH : (head + 1) * WIDTH] = 0
                output = SIGHT.output.last_hidden_state[0].save()
            found.append(cosine(output, plain) - 1)
    return torch.stack(found).view(len(LAYERS), len(HEADS))


def sight_patching(text: str) -> Tensor:
    ids, clean, found = ids_of(CORRUPTED), sight_stream(CLEAN), []
    with SIGHT.trace(input_ids=ids):
        plain = SIGHT.output.last_hidden_state[0].save()
    for layer in LAYERS:
        for position in range(ids.shape[1]):
            with SIGHT.trace(input_ids=ids):
                before = SIGHT.embeddings if layer == 0 else SIGHT.encoder.layer[layer - 1]
                before.output[0, position] = clean[layer, position]
                output = SIGHT.output.last_hidden_state[0].save()
            found.append(cosine(output, plain) - 1)
    return torch.stack(found).view(len(LAYERS), ids.shape[1])


def sight_vectors(text: str) -> Tensor:
    found = []
    for one in TEXTS:
        with SIGHT.trace(input_ids=ids_of(one)):
            output = SIGHT.output.last_hidden_state[0].save()
        found.append(output.mean(0))
    return torch.nn.functional.normalize(torch.stack(found), dim=-1)


def sight_anisotropy(text: str) -> Tensor:
    rows = [sight_stream(one).mean(1) for one in TEXTS]
    return torch.stack([mean_cosine(layer) for layer in torch.stack(rows, dim=1)])


Task = Callable[[str], Any]
TASKS: dict[str, tuple[Task, Task, Task]] = {
    "attention maps of all heads": (our_maps, lens_maps, sight_maps),
    "scores q·k of all heads": (our_scores, lens_scores, sight_scores),
    "entropy of each head": (our_entropy, lens_entropy, sight_entropy),
    "residual stream of all layers": (our_stream, lens_stream, sight_stream),
    "norm-weighted attention": (our_norm_weighted, lens_norm_weighted, sight_norm_weighted),
    "attention rollout": (our_rollout, lens_rollout, sight_rollout),
    "effect of each head off": (our_ablation, lens_ablation, sight_ablation),
    "patching of the residual stream": (our_patching, lens_patching, sight_patching),
    "sentence vectors of some texts": (our_vectors, lens_vectors, sight_vectors),
    "cosines of texts, layer by layer": (our_anisotropy, lens_anisotropy, sight_anisotropy),
}
LENS: Any = None
SIGHT: Any = None


def lines(task: Task) -> int:
    """Lines of a function's body, and of the functions of this file that it calls."""
    source = inspect.getsource(task)
    body = [line for line in source.splitlines()[1:] if line.strip() and not line.strip().startswith('"""')]
    words = set(re.findall(r"\w+(?=\()", "\n".join(body)))
    called = [one for name, one in globals().items() if name in words and getattr(one, "__module__", "") == __name__]
    return len(body) + sum(lines(one) for one in called if one is not task)


def run(rounds: int, tokens: int) -> list[str]:
    """The rows of the table. Raises AssertionError where two tools disagree."""
    global LENS, SIGHT
    from nnsight import NNsight

    LENS, SIGHT = lens.bridge(), NNsight(REFERENCE)
    text = MODEL.tokenizer.backend.decode(PAIR.sentence(tokens).ids)
    rows = []
    for name, contest in TASKS.items():
        calls = {tool: torch.no_grad()(partial(task, text)) for tool, task in zip(TOOLS, contest, strict=True)}
        found = {tool: np.asarray(call(), dtype=np.float64) for tool, call in calls.items()}
        ours = found["encoderscope"]
        worst = max(float(np.abs(other.reshape(ours.shape) - ours).max()) for other in found.values())
        assert worst < TOLERANCE, (name, worst)
        peaks = [memory.tensor_bytes(call)[0] / 1e6 for call in calls.values()]
        measured = timing.in_turn(calls, seconds=0, least=rounds)
        seconds = [1e3 * statistics.median(measured[tool]) for tool in TOOLS]
        cells = [
            " / ".join(str(lines(task)) for task in contest),
            " / ".join(f"{one:,.3g}" for one in seconds),
            " / ".join(f"{one:,.2g}" for one in peaks),
            f"{worst:.0e}",
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.research", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--tokens", type=int, default=32, metavar="T")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # those of the other tools
    print(
        f"Each cell: {' / '.join(TOOLS)}. {options.tokens} tokens, {len(TEXTS)} texts, medians of {options.rounds}.\n"
    )
    print("| task | lines | ms | peak MB | largest difference |\n|---|---|---|---|---|")
    print("\n".join(run(options.rounds, options.tokens)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

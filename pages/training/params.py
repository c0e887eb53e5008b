"""The values of the page “Train” in the address."""

from encoder.train.blocks import PRESETS, SEEDS, SWITCHES
from encoder.train.settings import ATTENTION, ENCODINGS, TaskSettings
from encoder.train.tasks import TASKS
from pages.state import Param, choice, flag, number, several, state, string, whole_number

#: Smallest and largest values on the page; larger runs take minutes instead of seconds.
LENGTHS, SYMBOLS, LAYERS, HEADS, WIDTHS = (4, 32), (2, 16), (1, 12), (1, 8), (8, 128)
RISES, STEPS, SEED = (1, 1000), (20, 3000), (0, 999_999)
RATES = (1e-5, 10.0)
WARM = ("with", "without")
PLACEMENTS = ("pre", "post", "sandwich")
PARTS = {
    "runs": "Training runs",
    "recorded": "Word prediction, 12 layers",
    "history": "The block, 2017 to today",
    "gradients": "Gradients at initialisation",
}
#: What is trained where nothing is chosen.
USUAL = TaskSettings()


@state.register
class Params:
    """What is trained, and what is shown of it. rise: steps of warm-up."""

    part: Param[str] = choice("runs", PARTS, url="train_part")
    task: Param[str] = choice(USUAL.task, TASKS)
    norms: Param[list[str]] = several(["pre", "post"], PLACEMENTS, url="train_norm")
    warm: Param[list[str]] = several(["with"], WARM)
    encodings: Param[list[str]] = several(["learned"], ENCODINGS)
    kinds: Param[list[str]] = several(["LayerNorm"], SWITCHES["Norm"], url="train_norm_kind")
    ffns: Param[list[str]] = several(["GELU"], SWITCHES["FFN"], url="train_ffn")
    attention: Param[list[str]] = several([], ATTENTION.values(), url="train_attention")
    contrast: Param[bool] = flag(url="train_contrast")
    history: Param[list[str]] = several([], PRESETS, url="train_history")
    seeds: Param[int] = whole_number(1, 1, SEEDS, url="train_seeds")
    rate: Param[float] = number(USUAL.learning_rate, *RATES)
    rise: Param[int] = whole_number(USUAL.warmup_steps, *RISES)
    steps: Param[int] = whole_number(USUAL.steps, *STEPS)
    length: Param[int] = whole_number(USUAL.length, *LENGTHS)
    symbols: Param[int] = whole_number(USUAL.n_symbols, *SYMBOLS)
    layers: Param[int] = whole_number(USUAL.n_layers, *LAYERS, url="train_layers")
    heads: Param[int] = whole_number(USUAL.n_heads, *HEADS, url="train_heads")
    width: Param[int] = whole_number(USUAL.d_model, *WIDTHS, url="train_width")
    seed: Param[int] = whole_number(USUAL.seed, *SEED, url="train_seed")
    # The head in the maps, and whether they show the sample sequence or the mean over the held-out ones.
    shown_layer: Param[int] = whole_number(0, url="watch_layer")
    shown_head: Param[int] = whole_number(0, url="watch_head")
    shown_mean: Param[bool] = flag(url="watch_mean")
    # The id of the runs on the server; nobody can guess it.
    runs: Param[str] = string(url="training_run", public="the id of runs on the server")


#: Of the gradients at initialisation.
GRADIENT_WIDTHS = ("32", "64", "128", "256")
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
MOST_SEEDS, MOST_HEADS = 5, 16


@state.register
class GradientParams:
    """What to measure. depth: the one whose layers are shown, "" for the deepest."""

    setting: Param[str] = choice("theory", ("theory", "real"), url="grad_setting")
    width: Param[str] = choice("128", GRADIENT_WIDTHS, url="grad_width")
    depths: Param[list[int]] = several([2, 4, 6, 8, 12], DEPTHS, none=True, url="grad_depths")
    heads: Param[int] = whole_number(1, 1, MOST_HEADS, url="grad_heads")
    seeds: Param[int] = whole_number(2, 1, MOST_SEEDS, url="grad_seeds")
    depth: Param[str] = choice("", ("", *map(str, DEPTHS)), url="grad_depth")


@state.register
class TwinParams:
    """Of the recorded training on masked words: the curves that are drawn, the depths, and what they run over."""

    curve: Param[str] = choice("held_out_accuracy", ("held_out_accuracy", "held_out_loss", "loss", "gradient_norm"))
    depth: Param[str] = choice("deep", ("all", "shallow", "deep"))
    clock: Param[bool] = flag()

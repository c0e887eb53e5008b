"""Mutated checkpoint folders: each is refused with a LoadError, or is the model that transformers makes of it."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import encoder
from encoder.errors import EncoderError, LoadError
from tests.conftest import ROOT
from tests.load import every_family, joints, reference, sounds

#: Families of other projects, and our own format. The families of text are compared with transformers.
FAMILIES = ("bert", "roberta", "modernbert", "albert", "mpnet", "distilbert", "electra")
IMAGES, SOUNDS, JOINTS = ("DeiT", "Dinov2"), ("wav2vec2", "whisper"), ("clip", "siglip")
OWN, OWN_JOINT, WORD_PIECES = "own", "own joint", "word pieces"
#: Seconds until a case counts as a hang; bytes of memory that a case may take.
PATIENCE, MEMORY = 20, 2_000_000_000
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 40, 64, 10**6, 10**9, 10**20, -(10**20), 0.5, -0.5, 1e-12, 1e308, "",
    "gelu", "a" * 3_000, "\ud800", "../..", "/etc/passwd", "full_attention", [], [[]], [1, 2], ["a"], {}, {"a": {}},
    [None] * 40,
)  # fmt: skip

PICTURE = torch.rand(3, 30, 40, generator=torch.Generator().manual_seed(0))
INPUTS: dict[str, tuple[Any, ...]] = {
    "text": ("the cat [MASK] w12", "a b"), "image": (PICTURE,), "video": (PICTURE[None],),
    "sound": (sounds.tone(0.2),),
}  # fmt: skip


class Found(AssertionError):
    """A case that is wrong: another exception, a hang, another model than the reference."""


class Late(BaseException):
    """PATIENCE has ended. No code that handles errors takes it for one of its own."""


@contextmanager
def bounded(what: str) -> Iterator[None]:
    """Inside, PATIENCE seconds and MEMORY bytes are allowed; the memory is known on Linux alone."""

    def late(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    memory = _resident("VmRSS")
    if memory:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    try:
        yield
    except Late:
        raise Found(f"{what} takes more than {PATIENCE} s") from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        if (taken := _resident("VmHWM") - memory) > MEMORY:
            raise Found(f"{what} takes {taken / 1e9:.1f} GB")


def _resident(name: str) -> int:
    """Bytes of memory of this process: VmRSS now, VmHWM at the peak; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines.splitlines() if line.startswith(f"{name}:")), 0)


def write_originals(folder: Path) -> dict[str, Path]:
    """A small valid checkpoint of each family."""
    found = {OWN: Path(shutil.copytree(ROOT / "encoder/data/twin-pre", folder / OWN))}
    for family in FAMILIES:
        found[family] = folder / family
        reference.write(reference.model_of(family, "Model", 1), folder / family, family)
    found[WORD_PIECES] = write_word_pieces(found["bert"], folder / WORD_PIECES)
    for family in IMAGES:
        found[family] = reference.write(reference.image_model_of(family, "Model", 1), folder / family, None)
        size = {"size": {"shortest_edge": 28}, "crop_size": {"height": 24, "width": 24}, "do_center_crop": True}
        (folder / family / "preprocessor_config.json").write_text(json.dumps(size | {"resample": 3}))
    found["videomae"] = every_family.write(case := every_family.VIDEOS["videomae"], case.make(), folder / "videomae")
    (folder / "videomae" / "video_preprocessor_config.json").write_text(json.dumps(size))
    for family in SOUNDS:
        more = {"use_weighted_layer_sum": True, "num_labels": 3}
        head = "ForAudioClassification" if family == "whisper" else "ForSequenceClassification"
        found[family] = reference.write(sounds.model_of(family, head, 1, **more), folder / family, None)
    for family in JOINTS:
        found[family] = joints.write(joints.model_of(family), folder / family, family)
    found[OWN_JOINT] = encoder.save(encoder.load(found["siglip"], device="cpu"), folder / OWN_JOINT)
    return found


def write_families(folder: Path) -> dict[str, Path]:
    """A small valid checkpoint of each case of tests/load/every_family, for mutated config.json files."""
    found = {}
    for index, (name, one) in enumerate(every_family.ALL.items()):
        found[name] = every_family.write(one, one.make(), folder / f"family{index}")
    return found


def write_word_pieces(bert: Path, folder: Path) -> Path:
    """The BERT with a tokenizer of word pieces whose two files agree, as transformers 4 wrote them."""
    import transformers

    shutil.copytree(bert, folder)
    words = [*reference.FAMILIES["bert"].special, *(f"w{n}" for n in range(40)), *"abcdefgh", "##1", "the", "cat", ","]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    plain = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}
    tokens = enumerate(reference.FAMILIES["bert"].special)
    added = {str(index): {"content": one} | plain for index, one in tokens}
    settings |= {"do_lower_case": True, "tokenize_chinese_chars": True, "added_tokens_decoder": added}
    path.write_text(json.dumps(settings), encoding="utf-8")
    return folder


def tokenizer_case(original: Path, seed: int) -> str:
    """One changed tokenizer: transformers finds the same ids, or a note says why not. Raises Found."""
    import transformers

    chance = random.Random(seed)
    texts = ("The cat, w12", "Élan \u4e2d a1", "[MASK] W3")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(original, Path(place) / "model"))
        done = change_json(folder / chance.choice((*["tokenizer_config.json"] * 3, "tokenizer.json")), chance)
        what = f"case {seed} (tokenizer; {done})"
        try:
            with bounded(what):
                loaded = encoder.load(folder, device="cpu")
                ours = [list(loaded.tokenize(one).ids) for one in texts]
        except EncoderError:
            return "refused"
        try:
            theirs = transformers.AutoTokenizer.from_pretrained(folder)
            expected = [theirs(one)["input_ids"] for one in texts]
        except BaseException:  # whoever refuses it has no other ids
            return "refused by transformers"
        if ours == expected:
            return "the same ids"
        if not any("tokenizer" in note for note in loaded.notes):
            raise Found(f"{what}: other ids than in transformers, without a note")
        return "a note"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything inside a JSON value, of long lists only some."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in list(value)[:60]:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(min(len(value), 5)):
            yield from places(value[index], (*path, index))


def change_json(path: Path, chance: random.Random) -> str:
    """Change one value of a JSON file; returns what was done."""
    value = json.loads(path.read_text(encoding="utf-8"))
    every = list(places(value))
    if not every:
        return f"{path.name} as it was"
    chosen = chance.choice(every)
    parent = value
    for step in chosen[:-1]:
        parent = parent[step]
    action = chance.randrange(4)
    if action == 0:
        del parent[chosen[-1]]
        what = "without"
    elif action == 1:
        other = value
        for step in chance.choice(every):
            other = other[step]
        parent[chosen[-1]], what = copy.deepcopy(other), "another value of the file at"
    else:
        parent[chosen[-1]] = chance.choice(VALUES)
        what = f"{str(parent[chosen[-1]])[:40]!r} at"
    path.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
    return f"{path.name}: {what} {chosen}"


def change_bytes(path: Path, chance: random.Random) -> str:
    """Change some bytes of a file; returns what was done."""
    data = bytearray(path.read_bytes())
    start = chance.randrange(min(len(data), 4_000) if chance.random() < 0.8 else len(data)) if data else 0
    action = chance.randrange(4)
    if action == 0:
        del data[start:]
        what = "cut"
    elif action == 1:
        data[start : start + 8] = chance.randbytes(8)
        what = "other bytes"
    elif action == 2:
        data[start:start] = chance.randbytes(chance.choice((1, 8, 1_000)))
        what = "more bytes"
    else:
        for _ in range(5):
            data[chance.randrange(len(data) or 1)] ^= 1 << chance.randrange(8)
        what = "flipped bits"
    path.write_bytes(data)
    return f"{path.name}: {what} at {start}"


def change_folder(folder: Path, chance: random.Random) -> str:
    """Remove, replace or add a file; returns what was done."""
    path = chance.choice(sorted(one for one in folder.iterdir() if not one.is_dir()))
    action = chance.randrange(5)
    if action == 0:
        path.unlink()
        return f"without {path.name}"
    if action == 1:
        path.unlink()
        os.mkfifo(path)
        return f"{path.name} is a pipe"
    if action == 2:
        path.unlink()
        path.mkdir()
        return f"{path.name} is a folder"
    if action == 3:
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {"a": chance.choice(("model.safetensors", "../x.safetensors", "", 3))}})
        )
        return "an index next to the weights"
    kind = f"sentence_transformers.models.{chance.choice(('Transformer', 'Pooling', 'Dense', 'x'))}"
    module = {"type": kind, "path": str(chance.choice(VALUES))}
    (folder / "modules.json").write_text(json.dumps([module]), errors="surrogatepass")
    return "modules.json"


def case(originals: dict[str, Path], seed: int, compare: bool = True, config_only: bool = False) -> str:
    """One mutated checkpoint, or one mutated config.json. Returns "refused" or "loaded". Raises Found."""
    chance = random.Random(seed)
    family = chance.choice(list(originals))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(originals[family], Path(place) / "model"))
        done = []
        for _ in range(chance.choice((1, 1, 1, 2))):
            files = sorted(path for path in folder.iterdir() if path.is_file() and path.stat().st_size)
            texts = [path for path in files if path.suffix == ".json"]
            kind = chance.random()
            if config_only:
                done.append(change_json(folder / "config.json", chance))
            elif kind < 0.6 and texts:
                chosen = next((one for one in texts if one.name == "config.json"), texts[0])
                chosen = chosen if chance.random() < 0.6 else chance.choice(texts)
                try:
                    done.append(change_json(chosen, chance))
                except ValueError:  # an earlier change made it no JSON
                    continue
            elif kind < 0.85 and files:
                done.append(change_bytes(chance.choice(files), chance))
            else:
                done.append(change_folder(folder, chance))
        what = f"case {seed} ({family}; {'; '.join(done)})"
        try:
            with bounded(what):
                loaded = encoder.load(folder, device="cpu")
        except LoadError as error:
            if not str(error).strip() or len(str(error)) > 3_000:
                raise Found(f"{what}: the error has {len(str(error))} characters") from error
            return "refused"
        except Found:
            raise
        except BaseException as error:
            raise Found(f"{what}: {type(error).__name__}: {error}") from error
        use(loaded, what)
        if compare and (config_only or family in FAMILIES) and isinstance(loaded, encoder.TextEncoder):
            compare_outputs(loaded, folder, what)
        return "loaded"


def use(loaded: Any, what: str) -> None:
    """Trace an input, and read what the pages read first."""
    try:
        with bounded(what):
            if isinstance(loaded, encoder.JointEncoder):
                loaded.probabilities([PICTURE], ["w12 w13", "w40"])
                loaded.projected_tokens(loaded.image.trace(PICTURE))
            traced = loaded.image if isinstance(loaded, encoder.JointEncoder) else loaded
            trace = traced.trace(*INPUTS[traced.takes])
            if trace.finite:
                if not bool(trace.thumbnails(8).isfinite().all()):
                    raise Found(f"{what}: `finite` says that maps are finite, and they are not")
                _ = repr(trace), trace.labels
            if isinstance(traced, encoder.TextEncoder):
                traced.embed("the cat")
            elif traced.classifier is not None:
                traced.probabilities(trace)
    except (EncoderError, Found) as error:
        if isinstance(error, Found):
            raise
    except BaseException as error:
        raise Found(f"{what}, traced: {type(error).__name__}: {error}") from error


def compare_outputs(loaded: encoder.TextEncoder, folder: Path, what: str) -> None:
    """Raise Found if transformers makes another model of the folder. A folder that it refuses proves nothing."""
    import transformers

    try:
        with bounded(f"{what}, in transformers"):
            theirs = transformers.AutoModel.from_pretrained(
                folder, attn_implementation="eager", output_loading_info=True
            )
            model, about = theirs
            if any(about[key] for key in ("missing_keys", "mismatched_keys")):
                return  # it filled the gaps with random numbers
            model = model.eval().float()
            if hasattr(model, "decoder"):  # whatever config.json says
                model = model.get_encoder()
            ids = torch.tensor([[2, 7, 9, 20, 33, 3]]) % min(loaded.config.vocab_size, 90)
            ids = ids[:, : loaded.config.max_tokens]  # beyond it "dynamic" positions turn otherwise
            with torch.no_grad():
                expected = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    except BaseException:
        return
    if not bool(expected.isfinite().all()):
        return  # NaN spreads differently in fused and explicit attention; `finite` says that there is some
    with torch.no_grad():
        ours = loaded.encoder(ids)
    if expected.shape != ours.shape or not torch.allclose(ours, expected, atol=1e-4, equal_nan=True):
        worst = float((ours - expected).abs().max()) if expected.shape == ours.shape else -1.0
        raise Found(f"{what}: another model than in transformers, by {worst:g}")

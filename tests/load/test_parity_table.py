"""docs/parity.md: every family of images, sounds and pairs has its rows, and the promises hold in them."""

from __future__ import annotations

import re

import transformers

from docs import parity
from encoder.checkpoints.families import FAMILIES, JOINTS, PAGES, timm
from encoder.checkpoints.measured_parity import measured


def test_the_table_has_every_checkpoint_and_keeps_its_promises():
    found = re.findall(r"^\| (.+?) \| (.+?) \| (\d\S+) \| (\d\S+) \| \S+ \(\S+\) \|$", parity.FILE.read_text(), re.M)
    rows = list(parity.rows())
    assert [(family, kind) for family, kind, *_ in found] == [(row.family, row.kind) for row in rows]
    assert max(float(figure) for _, _, *figures in found for figure in figures) <= 1e-5
    kinds = {getattr(transformers, row.kind.split(",")[0]).config_class.model_type for row in rows}
    kinds |= {row.model_type for row in measured().rows}  # the registry has the families that are measured alone
    signals = {name for name, family in FAMILIES.items() if family.images or family.sounds}
    # Whole models of an encoder that is measured: test_conformers.py, test_granite_speech.py.
    writers = {"granite_speech", *(f"parakeet_{kind}" for kind in ("ctc", "rnnt", "tdt"))}
    assert kinds >= (signals | {*JOINTS, *PAGES}) - {timm.KIND} - writers
    assert any(row.kind == "ViTForImageClassification, as timm writes it" for row in rows)


def test_a_row_is_measured():
    clip = next(row for row in parity.rows() if row.kind == "CLIPModel")
    assert parity.difference(clip)[0] <= 1e-5
    rounded, reference = parity.difference(clip, computed="bfloat16")
    assert 1e-3 < rounded < 3 * reference

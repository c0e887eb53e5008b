"""Names on disk against our own, strictly both ways, and the weights into an Encoder (and its masked-word head).

Everything is checked by names and shapes, from the files' headers, before a weight is read.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.config import EncoderConfig
from encoder.errors import ConfigError, LoadError
from encoder.load.families import Family, Fields, HeadNames, Part
from encoder.load.weights import WeightFiles, fill
from encoder.mlm import MLMHead, MLMHeadConfig
from encoder.model import Encoder, unfilled


@dataclass(frozen=True)
class Read:
    """What a checkpoint's weights became; notes: what was left out, in sentences."""

    encoder: Encoder
    mlm_head: MLMHead | None
    notes: tuple[str, ...]


class Disk:
    """The weights on disk by their standard names; each is taken once, what stays untaken must be explained."""

    def __init__(self, files: WeightFiles, family: Family) -> None:
        self.files = files
        self._held: dict[str, str] = {}  # standard name -> name on disk
        for name in files:
            standard = standard_name(name, family)
            if standard in self._held:
                raise LoadError(f"The checkpoint holds {standard} twice, as {self._held[standard]} and as {name}.")
            self._held[standard] = name
        self._taken: set[str] = set()
        self.prefix = self._find_prefix(family)

    def _find_prefix(self, family: Family) -> str:
        """What stands before the encoder's names. Raises LoadError when its first weight is under no known prefix."""
        first = as_part(next(iter(family.names.values()))).name
        for prefix in family.prefixes:
            if prefix + first in self._held:
                return prefix
        others = " or ".join(prefix + first for prefix in family.prefixes if prefix)
        raise LoadError(f"The checkpoint lacks the weight {first} (or {others}), where an encoder starts.")

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def take(self, name: str) -> str:
        """The name on disk of a weight that is needed. Raises LoadError where it is missing."""
        if name not in self._held:
            raise LoadError(f"The checkpoint lacks the weight {name}.")
        self._taken.add(name)
        return self._held[name]

    def untaken(self) -> list[str]:
        """Names on disk that nothing was taken from."""
        return sorted(self._held[name] for name in self._held.keys() - self._taken)


@dataclass(frozen=True)
class Source:
    """Where one of our weights lies: a name on disk and the part of it."""

    name: str
    part: Part

    def shape(self, files: WeightFiles) -> tuple[int, ...]:
        """The shape of the part, from the header. Raises LoadError where the blocks do not come out even."""
        shape = files.shape(self.name)
        if self.part.unwrap:
            shape = shape[1:] if shape[:1] == (1,) else ()  # () fits nothing
        if self.part.of > 1:
            if not shape or shape[0] % self.part.of:
                raise LoadError(f"The weight {self.name} has the shape {shape}, which is not {self.part.of} blocks.")
            shape = (shape[0] // self.part.of, *shape[1:])
        return shape

    def read(self, files: WeightFiles, device: torch.device, dtype: torch.dtype) -> Tensor:
        """The weight, where and as the model wants it; in float32 on the CPU a view of the mapped file, not a copy."""
        weight = files.read(self.name)
        if self.part.unwrap:
            weight = weight[0]
        weight = weight.chunk(self.part.of)[self.part.index] if self.part.of > 1 else weight
        return weight.to(device=device, dtype=dtype)


def read_checkpoint(
    files: WeightFiles, fields: Fields, family: Family, device: torch.device, dtype: torch.dtype
) -> Read:
    """A family's weights -> Encoder and head. Raises LoadError naming the first key or field that stands in the way."""
    disk = Disk(files, family)
    config = settle(family, fields, disk)
    with unfilled():
        encoder = Encoder(config)
    sources = {ours: take_part(disk, disk.prefix, name_on_disk(ours, family)) for ours in encoder.state_dict()}
    check_shapes(files, encoder, sources)
    head, head_sources = prepare_head(disk, family, fields, config, sources)
    notes = explain_rest(disk, family)
    fill(encoder, {ours: source.read(files, device, dtype) for ours, source in sources.items()})
    if head is not None:
        fill(head, {ours: source.read(files, device, dtype) for ours, source in head_sources.items()})
    return Read(encoder, head, notes)


# --- the encoder -----------------------------------------------------------------------------------------------------


def standard_name(name: str, family: Family) -> str:
    """A name on disk in the family's standard spelling."""
    for pattern, replacement in family.renamed:
        name = re.sub(f"^{pattern}$", replacement, name)
    return name


def as_part(entry: str | Part) -> Part:
    """An entry of a name table: the whole weight, or a part of it."""
    return entry if isinstance(entry, Part) else Part(entry)


def name_on_disk(ours: str, family: Family) -> Part:
    """Our parameter name -> where it lies, without prefix. Raises LoadError for one that the family has no name for."""
    parts = ours.split(".")
    layer = parts[1] if parts[0] == "layers" else ""
    key = ".".join(["layers", "{l}", *parts[2:]]) if layer else ours
    if key not in family.names:
        raise LoadError(f"config.json asks for {ours}, which checkpoints of this family do not have.")
    part = as_part(family.names[key])
    return dataclasses.replace(part, name=part.name.replace("{l}", layer))


def take_part(disk: Disk, prefix: str, part: Part) -> Source:
    """Where a needed weight lies. Raises LoadError where it is missing."""
    return Source(disk.take(prefix + part.name), part)


def settle(family: Family, fields: Fields, disk: Disk) -> EncoderConfig:
    """The architecture; the weights say whether there is a pooler. Raises LoadError for fields that fit no encoder."""
    try:
        config = family.config(fields)
        pooler = family.names.get("pooler.weight")
        return config.replace(pooler=pooler is not None and disk.prefix + as_part(pooler).name in disk)
    except ConfigError as error:
        raise LoadError(f"config.json describes no encoder that can be built: {error}") from error


def check_shapes(files: WeightFiles, module: nn.Module, sources: dict[str, Source]) -> None:
    """Raise LoadError naming the first weight whose shape is not the one that config.json makes."""
    for ours, parameter in module.state_dict().items():
        shape = sources[ours].shape(files)
        if shape != tuple(parameter.shape):
            raise LoadError(
                f"The weight {sources[ours].name} has the shape {files.shape(sources[ours].name)}; config.json makes "
                f"{ours} {tuple(parameter.shape)}."
            )


# --- what stands on top ----------------------------------------------------------------------------------------------


def prepare_head(
    disk: Disk, family: Family, fields: Fields, config: EncoderConfig, sources: dict[str, Source]
) -> tuple[MLMHead | None, dict[str, Source]]:
    """The masked-word head, unfilled, and where its weights lie; (None, {}) where the checkpoint has none."""
    names = family.head
    if names is None or not has_masked_word_head(disk, names):
        return None, {}
    head_config = names.config(fields)
    own_table = not head_config.tied or has_table_of_its_own(disk, names, sources["embedding.tokens.weight"])
    head_config = dataclasses.replace(head_config, tied=not own_table)
    with unfilled():
        head = MLMHead(config, head_config)
    head_sources = {
        ours: take_part(disk, "", Part(theirs)) for ours, theirs in names_of_head(disk, names, head_config).items()
    }
    for name in names.names:  # what is left of them is a second copy: of the tied table, of the bias
        if name in disk and (name == names.table or (name in names.bias and head_config.decoder_bias)):
            disk.take(name)
    check_shapes(disk.files, head, head_sources)
    return head, head_sources


def has_masked_word_head(disk: Disk, names: HeadNames) -> bool:
    """Whether there is one: it has a bias or a table of words, or a dense map that belongs to no classifier."""
    if names.table in disk or any(name in disk for name in names.bias):
        return True
    return f"{names.dense}.weight" in disk and "classifier.weight" not in disk and "qa_outputs.weight" not in disk


def has_table_of_its_own(disk: Disk, names: HeadNames, tokens: Source) -> bool:
    """Whether the head's table differs from the encoder's. A file may hold both, equal or not; then they decide."""
    if names.table not in disk:
        return False
    own = disk.take(names.table)
    if disk.files.shape(own) != disk.files.shape(tokens.name):
        return True
    return not torch.equal(disk.files.read(own), disk.files.read(tokens.name))


def names_of_head(disk: Disk, names: HeadNames, head: MLMHeadConfig) -> dict[str, str]:
    """Our parameter of the head -> its name on disk."""
    found = {"dense.weight": f"{names.dense}.weight", "norm.weight": f"{names.norm}.weight"}
    if head.dense_bias:
        found["dense.bias"] = f"{names.dense}.bias"
    if head.norm_bias:
        found["norm.bias"] = f"{names.norm}.bias"
    if head.decoder_bias:
        found["bias"] = next((name for name in names.bias if name in disk), names.bias[-1])
    if not head.tied:
        found["table"] = names.table
    return found


def explain_rest(disk: Disk, family: Family) -> tuple[str, ...]:
    """Sentences on the weights that are not used. Raises LoadError for one that is not known."""
    meanings = set()
    for name in disk.untaken():
        meaning = meaning_of(name.removeprefix(disk.prefix), family)
        if meaning is None:
            raise LoadError(
                f"The checkpoint holds the weight {name}, which is no part of this family as config.json describes it."
            )
        meanings.add(meaning)
    return tuple(f"Left out: {meaning}, which is no part of the encoder." for meaning in sorted(meanings - {""}))


def meaning_of(name: str, family: Family) -> str | None:
    """What a weight is that the encoder does not need, or None when it is not known."""
    for pattern, meaning in family.dropped.items():
        if re.fullmatch(pattern, name):
            return meaning
    return None

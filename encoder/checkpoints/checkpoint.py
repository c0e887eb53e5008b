"""The weights on disk -> an Encoder and its heads. Names must match strictly, in both directions.

Names and shapes in the files' headers are checked before any weight is read.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.checkpoints.class_heads import kind_of_head, note_on_score, unfilled_head
from encoder.checkpoints.families import Family, Fields, HeadNames, LMNames, Part
from encoder.checkpoints.families.names import EXPERTS
from encoder.checkpoints.families.parts import NO_BIAS, NO_CHANGE, shape_read
from encoder.checkpoints.notes import note_on_dtype
from encoder.checkpoints.weights import WeightFiles, check_memory, fill
from encoder.errors import ConfigError, LoadError
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, unfilled
from encoder.model.lm_head import LMHead, LMHeadConfig
from encoder.model.mlm import MLMHead, MLMHeadConfig
from encoder.model.sines import sines_and_cosines

#: Names of unknown weights in a note.
MOST_NAMED = 3
TOKENS, POSITIONS = "embedding.tokens.weight", "embedding.positions.table.weight"
ROTATIONS = "rotary_table.weight"


@dataclass(frozen=True)
class LoadedWeights:
    """A loaded encoder and its heads; None: the checkpoint has no such head."""

    #: The encoder.
    encoder: Encoder
    #: The masked-word head.
    mlm_head: MLMHead | None
    #: Sentences about weights that were left out.
    notes: tuple[str, ...]
    #: The classification head.
    classifier: Classifier | None = None
    #: What makes one vector of an input, `Family.vector`.
    vector: nn.Module | None = None
    #: The head of questions and answers.
    span_head: Classifier | None = None
    #: The stack that writes, which may be the encoder itself.
    decoder: Encoder | None = None
    #: The head of the decoder; None where nothing writes.
    lm_head: LMHead | None = None


class Disk:
    """The weights on disk by their standard names. Each is taken once; the remaining ones must be known."""

    def __init__(self, files: WeightFiles, family: Family) -> None:
        self.files = files
        self._names: dict[str, str] = {}  # standard name -> name on disk
        self.untaken = set(files)  # names on disk
        for name in files:
            standard = standard_name(name, family)
            if standard in self._names:
                raise LoadError(
                    f"The checkpoint has {standard} twice, as {self._names[standard]} and as {name}: save it again."
                )
            self._names[standard] = name
        self.prefix = self._find_prefix(family)

    def _find_prefix(self, family: Family) -> str:
        """The prefix of the encoder's names. Raises LoadError when its first weight has no known prefix."""
        first = as_part(next(iter(family.names.values()))).name
        for prefix in family.prefixes:
            if prefix + first in self._names:
                return prefix
        others = " or ".join(prefix + first for prefix in family.prefixes if prefix)
        raise LoadError(f"The checkpoint lacks the weight {first} (or {others}): choose a checkpoint of an encoder.")

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def take(self, name: str) -> str:
        """The name on disk of a needed weight. Raises LoadError if it is missing."""
        if name not in self._names:
            raise LoadError(f"The checkpoint lacks the weight {name}: download it again, or correct config.json.")
        self.untaken.discard(self._names[name])
        return self._names[name]

    def sources(self, module: nn.Module, names: Mapping[str, str | Part]) -> dict[str, Source]:
        """The places of the weights of a head, which must fit it; "{encoder}" is the encoder's prefix."""
        found = {}
        for ours, entry in names.items():
            part = as_part(entry)
            found[ours] = Source(self.take(part.name.replace("{encoder}", self.prefix)), part)
        check_shapes(self.files, module, found)
        return found


@dataclass(frozen=True)
class Source:
    """Where one of our weights is: a name on disk, a part of that weight, the number of heads, the other experts."""

    name: str
    part: Part
    n_heads: int = 1
    others: tuple[str, ...] = ()

    def shape(self, files: WeightFiles) -> tuple[int, ...]:
        """The shape of the part, from the headers. Raises LoadError for weights that cannot be read as such a part."""
        if self.part.changes == NO_CHANGE:
            return files.shape(self.name)
        part, shapes = self.part, tuple(map(files.shape, (self.name, *self.others)))
        try:
            shape = shape_read(part.changes, self.n_heads, shapes)
        except (RuntimeError, IndexError) as error:
            raise LoadError(
                f"The weight {self.name} of shape {shapes[0]} cannot be taken apart as config.json says: download it "
                "again, or correct config.json."
            ) from error
        fits = {table: files.shape(table)[1:] == shape[1:] for table in part.plus}
        if part.scale:
            fits[part.scale] = files.shape(part.scale) == shape[:1]
        for name, does in fits.items():
            if not does:
                raise LoadError(
                    f"The weight {name} of shape {files.shape(name)} does not fit {self.name}: download it again."
                )
        return shape

    def read(self, files: WeightFiles, device: torch.device, dtype: torch.dtype) -> Tensor:
        """A copy of the weight on this device, of this type; the weight itself where the files share it."""
        weights = [files.read(name) for name in (self.name, *self.others)]
        weight = self.part.read(weights, self.n_heads, files.read)
        return weight.to(device=device, dtype=dtype, copy=not files.shares)


@dataclass(frozen=True)
class Made(Source):
    """A weight that is not on disk."""

    size: tuple[int, ...] = ()
    value: float = 1.0
    #: Makes it, where it is a table of positions.
    table: Callable[[int, int], Tensor] | None = None

    def shape(self, files: WeightFiles) -> tuple[int, ...]:
        """Its shape."""
        return self.size

    def read(self, files: WeightFiles, device: torch.device, dtype: torch.dtype) -> Tensor:
        """Gains of a norm without learned ones, a bias of zeros; the table of positions (Marian)."""
        if self.table is None:
            return torch.full(self.size, self.value, device=device, dtype=dtype)
        return self.table(*self.size).to(device=device, dtype=dtype)


def read_checkpoint(
    files: WeightFiles,
    fields: Fields,
    family: Family,
    device: torch.device,
    dtype: torch.dtype,
    writes: bool = True,
    layer: int | None = None,
) -> LoadedWeights:
    """A family's weights -> Encoder and heads. Raises LoadError, which names the first wrong weight or field.

    writes: whether to read the decoder, too; layer: the number of layers whose output counts, None: all.
    """
    disk = Disk(files, family)
    config = up_to_layer(settle(family, fields, disk), layer)
    encoder, sources = prepare_stack(disk, family, config)
    (stack, stack_sources, lm_head, lm_sources), unread = prepare_decoder(disk, family, fields, encoder, writes)
    head, head_sources = prepare_head(disk, family, fields, config, sources)
    classifier, classifier_sources, trouble = prepare_classifier(disk, family, fields, config)
    vector, vector_sources = prepare_vector(disk, family, fields, config)
    spans, span_sources = prepare_spans(disk, family, config)
    notes = (*trouble, *unread, *explain_rest(disk, family), *note_on_dtype(fields, files, dtype))
    notes += (family.note,) if family.note else ()
    parts: tuple[tuple[nn.Module | None, dict[str, Source]], ...]
    parts = (
        (encoder, sources),
        (head, head_sources),
        (classifier, classifier_sources),
        (vector, vector_sources),
        (spans, span_sources),
        (stack, stack_sources),
        (lm_head, lm_sources),
    )
    if not files.shares:
        check_memory([module for module, _ in parts if module is not None], device, dtype)
    for module, places in parts:
        if module is None:
            continue
        found: dict[str, Tensor] = {}
        if id(module) == id(stack) and getattr(sources.get(TOKENS), "name", "") == places[TOKENS].name:  # for both
            found[TOKENS] = encoder.embedding.get_parameter("tokens.weight")
        found |= {ours: one.read(files, device, dtype) for ours, one in places.items() if ours not in found}
        fill(module, found)
        module.eval()
    writer = encoder if stack is None and lm_head is not None else stack
    return LoadedWeights(encoder, head, notes, classifier, vector, spans, writer, lm_head)


# --- the encoder -----------------------------------------------------------------------------------------------------


def standard_name(name: str, family: Family) -> str:
    """A name on disk in the family's standard spelling."""
    for pattern, replacement in family.renamed:
        name = re.sub(f"^{pattern}$", replacement, name)
    return name


def as_part(entry: str | Part) -> Part:
    """An entry of a name table: the whole weight, or a part of it."""
    return entry if isinstance(entry, Part) else Part(entry)


def name_on_disk(ours: str, family: Family, config: EncoderConfig) -> Part:
    """Our parameter name -> its place on disk, without prefix. Raises LoadError if the family has no such weight."""
    parts = ours.split(".")
    layer = parts[1] if parts[0] == "layers" else ""
    key = ".".join(["layers", "{l}", *parts[2:]]) if layer else ours
    if layer and parts[2] == "ffn" and config.experts is not None and int(layer) in (config.experts.layers or ()):
        key = ".".join([EXPERTS, *parts[3:]])
    if key not in family.names:
        raise LoadError(f"config.json needs {ours}, which this family does not have: correct config.json.")
    entry = family.names[key]
    if isinstance(entry, str):  # most weights of a model
        return Part(entry.replace("{l}", layer))
    return dataclasses.replace(entry, name=entry.name.replace("{l}", layer), scale=entry.scale.replace("{l}", layer))


def expert_count(config: EncoderConfig) -> int:
    """The number of experts, each with weights of its own on disk; 1 without."""
    return 1 if config.experts is None else config.experts.count


def settle(family: Family, fields: Fields, disk: Disk) -> EncoderConfig:
    """The architecture; the weights decide whether it has a pooler, and a table of rotations that is not of sines.

    Raises LoadError for fields that fit no encoder.
    """
    config = settled(family, fields)
    return config.replace(
        pooler=of_family(disk, family, "pooler.weight") is not None,
        rotary_table=has_own_rotations(disk, family, config),
    )


def of_family(disk: Disk, family: Family, ours: str) -> str | None:
    """The name on disk of a weight that not all checkpoints of the family have; None: this one has not."""
    if ours not in family.names:
        return None
    name = disk.prefix + as_part(family.names[ours]).name
    return name if name in disk else None


def has_own_rotations(disk: Disk, family: Family, config: EncoderConfig) -> bool:
    """Whether a saved table of rotations has other numbers than the sines and cosines that the encoder computes."""
    name = of_family(disk, family, ROTATIONS)
    if name is None:
        return False
    size = (config.max_positions, config.rotary_width)
    if disk.files.shape(name) != size:
        return True
    return not torch.allclose(disk.files.read(name).float().cpu(), sines_and_cosines(*size), rtol=0.0, atol=1e-6)


def settled(family: Family, fields: Fields) -> EncoderConfig:
    """The architecture that config.json describes. Raises LoadError for fields that fit no encoder."""
    try:
        return family.config(fields)
    except ConfigError as error:
        raise LoadError(f"config.json describes no encoder. {error}") from error


def up_to_layer(config: EncoderConfig, layer: int | None) -> EncoderConfig:
    """The encoder whose output is the residual stream after so many layers, from the end where it is negative.

    Raises LoadError for none, and for layers that differ from each other.
    """
    if layer is None:
        return config
    n_layers = layer if layer >= 0 else config.n_layers + 1 + layer
    if n_layers == config.n_layers:
        return config
    several = [
        name for name, value in vars(config).items() if isinstance(value, tuple) and len(value) == config.n_layers
    ]
    if not 1 <= n_layers < config.n_layers or several or config.layer_groups is not None:
        raise LoadError(
            f"This checkpoint's vectors are of its hidden state {layer}: choose one from 1 to {config.n_layers} in "
            "a model whose layers are alike."
        )
    return config.replace(n_layers=n_layers, final_norm=False)


def check_shapes(files: WeightFiles, module: nn.Module, sources: dict[str, Source]) -> None:
    """Raise LoadError, which names the first weight whose shape does not follow from config.json."""
    for ours, parameter in module.state_dict().items():
        shape = sources[ours].shape(files)
        if shape != tuple(parameter.shape):
            raise LoadError(
                f"The weight {sources[ours].name} has the shape {files.shape(sources[ours].name)}, but config.json "
                f"makes {ours} {tuple(parameter.shape)}: use the config.json of these weights."
            )


def prepare_stack(disk: Disk, family: Family, config: EncoderConfig) -> tuple[Encoder, dict[str, Source]]:
    """The unfilled encoder, or decoder, and the places of its weights."""
    with unfilled():
        encoder = Encoder(config)
    sources: dict[str, Source] = {ours: Made("", Part(""), size=one.shape) for ours, one in encoder.named_buffers()}
    for ours, parameter in encoder.named_parameters():
        part = name_on_disk(ours, family, config)
        if part == NO_BIAS:
            sources[ours] = Made("", part, size=tuple(parameter.shape), value=0.0)
            continue
        if part.scale:
            part = dataclasses.replace(part, scale=disk.take(disk.prefix + part.scale))
        if part.plus:
            part = dataclasses.replace(part, plus=tuple(disk.take(disk.prefix + name) for name in part.plus))
        if family.sines and ours == POSITIONS and disk.prefix + part.name not in disk:
            sources[ours] = Made("", part, size=tuple(parameter.shape), table=family.sines)
        else:
            first, *others = (disk.take(disk.prefix + name) for name in part.names(expert_count(config)))
            sources[ours] = Source(first, part, config.n_heads, tuple(others))
    check_shapes(disk.files, encoder, sources)
    return encoder, sources


# --- decoder ---------------------------------------------------------------------------------------------------------


#: The stack of a decoder and its head, unfilled, each with the places of its weights.
Writer = tuple[Encoder | None, dict[str, Source], LMHead | None, dict[str, Source]]
NO_WRITER: Writer = (None, {}, None, {})


def prepare_decoder(
    disk: Disk, family: Family, fields: Fields, encoder: Encoder, writes: bool
) -> tuple[Writer, tuple[str, ...]]:
    """The unfilled decoder, and a sentence if it cannot be read. The encoder opens without it, so nothing here raises.

    A checkpoint of a classifier or of an encoder has none.
    """
    purpose, before = str(fields.get("architectures")), set(disk.untaken)
    if family.lm is None or not writes or "Classification" in purpose or "QuestionAnswering" in purpose:
        return NO_WRITER, ()
    try:
        return writer_of(disk, family, family.lm, fields, encoder), ()
    except (LoadError, ConfigError) as error:
        disk.untaken = before
        return NO_WRITER, (f"The encoder is open without its decoder. {error}",)


def writer_of(disk: Disk, family: Family, names: LMNames, fields: Fields, encoder: Encoder) -> Writer:
    """The decoder of a checkpoint that has one. Of a decoder by itself the stack is None: it is the encoder."""
    own = family.decoder
    stack: Encoder | None = None
    places: dict[str, Source] = {}
    if own is None:
        if not encoder.config.causal:
            return NO_WRITER
    elif not any(name.startswith(disk.prefix + "decoder.") for name in disk.files):
        return NO_WRITER
    else:
        stack, places = prepare_stack(disk, own, settled(own, fields))
        for name in list(disk.untaken):
            if any(re.fullmatch(pattern, name.removeprefix(disk.prefix)) for pattern in own.dropped):
                disk.untaken.discard(name)
    config = encoder.config if stack is None else stack.config
    tokens = own.names[TOKENS] if own is not None else family.names[TOKENS]
    table = disk.files.shape(disk.take(disk.prefix + as_part(tokens).name))
    tied = fields.tied or own is not None
    if names.table in disk:
        mine, theirs = disk.take(names.table), disk.take(disk.prefix + as_part(tokens).name)
        tied = tied and disk.files.shape(mine) == table and torch.equal(disk.files.read(mine), disk.files.read(theirs))
    elif not tied:  # AutoModel saves an untied model without its head
        return NO_WRITER
    where = {} if tied else {"table": names.table}
    if names.bias and names.bias in disk:
        where["bias"] = names.bias
    with unfilled():
        head = LMHead(config, LMHeadConfig(tied=tied, bias="bias" in where, **names.config(fields)))
    parts = {ours: Part(name) for ours, name in where.items()}
    if "bias" in where:
        parts["bias"] = Part(names.bias, unwrap=len(disk.files.shape(disk.take(names.bias))) == 2)
    return stack, places, head, disk.sources(head, parts)


# --- masked-word head ----------------------------------------------------------------------------------------------


def prepare_head(
    disk: Disk, family: Family, fields: Fields, config: EncoderConfig, sources: dict[str, Source]
) -> tuple[MLMHead | None, dict[str, Source]]:
    """The unfilled masked-word head and the places of its weights; (None, {}) if the checkpoint has none."""
    names = family.head
    if names is None or not has_masked_word_head(disk, names):
        return None, {}
    head_config = names.config(fields)
    own_table = not head_config.tied or has_table_of_its_own(disk, names, sources["embedding.tokens.weight"])
    head_config = dataclasses.replace(head_config, tied=not own_table)
    with unfilled():
        head = MLMHead(config, head_config)
    head_sources = disk.sources(head, names_of_head(disk, names, head_config))
    for name in names.names:  # the remaining ones are copies: of the tied table, of the bias
        if name in disk and (name == names.table or (name in names.bias and head_config.decoder_bias)):
            disk.take(name)
    return head, head_sources


def has_masked_word_head(disk: Disk, names: HeadNames) -> bool:
    """Whether there is one: a bias or a table of words, or a dense map that belongs to no classifier."""
    if names.table in disk or any(name in disk for name in names.bias):
        return True
    return f"{names.dense}.weight" in disk and "classifier.weight" not in disk and "qa_outputs.weight" not in disk


def has_table_of_its_own(disk: Disk, names: HeadNames, tokens: Source) -> bool:
    """Whether the head's table differs from the encoder's. If a file has both, their numbers decide."""
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


# --- classification head ---------------------------------------------------------------------------------------------


def prepare_classifier(
    disk: Disk, family: Family, fields: Fields, config: EncoderConfig
) -> tuple[Classifier | None, dict[str, Source], tuple[str, ...]]:
    """The unfilled classification head, the places of its weights, and sentences about it.

    The encoder opens without it, so nothing here raises.
    """
    kind = kind_of_head(disk, family, fields)
    if kind is None or kind not in family.classifiers:
        return None, {}, ()
    try:
        head, places = unfilled_head(family.classifiers[kind], kind, fields, config)
        return head, disk.sources(head, places), note_on_score(fields, head.config)
    except LoadError as error:
        return None, {}, (f"The encoder is open without its classification head. {error}",)


def prepare_spans(disk: Disk, family: Family, config: EncoderConfig) -> tuple[Classifier | None, dict[str, Source]]:
    """The unfilled head that gives each token two logits, of the start and the end of an answer; (None, {}) without."""
    names = {f"out.{kind}": f"qa_outputs.{kind}" for kind in ("weight", "bias")}
    if family.images or family.sounds or not all(name in disk for name in names.values()):
        return None, {}
    if disk.files.shape(disk.take(names["out.weight"])) != (2, config.d_model):
        disk.untaken.add(names["out.weight"])
        return None, {}
    with unfilled():
        head = Classifier(config.d_model, ClassifierConfig("token", ("start", "end")))
    return head, disk.sources(head, names)


def prepare_vector(
    disk: Disk, family: Family, fields: Fields, config: EncoderConfig
) -> tuple[nn.Module | None, dict[str, Source]]:
    """The unfilled end of an encoder of images and texts, and the places of its weights; (None, {}) without one."""
    if family.vector is None:
        return None, {}
    names = (as_part(entry).name.replace("{encoder}", disk.prefix) for entry in family.vector.names.values())
    if not any(name in disk for name in names):
        return None, {}
    try:
        with unfilled():
            module = family.vector.build(fields, config)
    except ConfigError as error:
        raise LoadError(f"config.json describes no encoder. {error}") from error
    return module, disk.sources(module, family.vector.names)


def explain_rest(disk: Disk, family: Family) -> tuple[str, ...]:
    """Sentences about the weights that are not used: what the known ones are, and the names of the others.

    The reference leaves them out, too, so the model is the same.
    """
    meanings, unknown = set(), []
    for name in sorted(disk.untaken):
        plain = name.removeprefix(disk.prefix)
        meaning = next((said for pattern, said in family.dropped.items() if re.fullmatch(pattern, plain)), None)
        if meaning is None:
            unknown.append(name)
        else:
            meanings.add(meaning)
    notes = [f"Left out: {meaning}." for meaning in sorted(meanings - {""})]
    if unknown:
        named = ", ".join(unknown[:MOST_NAMED]) + (", …" if len(unknown) > MOST_NAMED else "")
        notes.append(f"Left out: {len(unknown)} weights that config.json gives no place ({named}), as in transformers.")
    return tuple(notes)

"""One block of texts -> its totals and the files of its tokens' vectors. Workers and the process itself call the same.

Shapes: B texts, M measures, L layers, H heads, N = L x H.
"""

import io
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import save

from encoder.corpus.batch import BatchNumbers, batches, measure_batch
from encoder.corpus.groups import key_tokens
from encoder.corpus.plan import BINS, Block, Plan, bins
from encoder.corpus.totals import Top, Totals, bootstrap_weights, fixed, weighted_sums
from encoder.encoders.text import TextEncoder
from encoder.errors import TextError
from encoder.inputs.text import Tokenized
from encoder.measure import head_types


@dataclass(frozen=True, eq=False)
class BlockResult:
    """What a block adds. files: path inside the atlas -> content."""

    number: int
    totals: Totals
    files: dict[str, bytes] = field(default_factory=dict)


#: What is done with a block: yields how many of its texts are done.
Survey = Callable[[TextEncoder, Block, Plan], Generator[int, None, BlockResult]]


def survey_block(model: TextEncoder, block: Block, plan: Plan) -> Generator[int, None, BlockResult]:
    """Measure the texts of a block, sorted by length. Yields how many texts are done after each batch.

    A text that the tokenizer or the model cannot take is left out and named.
    """
    found = _Collected(model, block, plan)
    done = len(block.texts) - len(found.sentences)
    places = list(found.sentences)
    for batch in batches([len(found.sentences[place]) for place in places]):
        found.add([places[one] for one in batch])
        done += len(batch)
        yield done
    return BlockResult(block.number, found.totals(), found.files())


class _Collected:
    """Numbers of the texts of one block."""

    def __init__(self, model: TextEncoder, block: Block, plan: Plan) -> None:
        self._model, self._block, self._plan = model, block, plan
        self._keys = key_tokens(model, plan.settings.key_tokens)
        config, settings = model.config, plan.settings
        self._most_tokens = min(config.max_tokens, settings.max_tokens or config.max_tokens)
        self.sentences: dict[int, Tokenized] = {}  # place in the block -> tokens
        self.failed: dict[int, str] = {}
        for place, text in enumerate(block.texts):
            try:
                self.sentences[place] = model.tokenize(text, max_tokens=settings.max_tokens)
            except TextError as error:
                self.failed[block.first + place] = str(error)
        self._usable: list[int] = []  # places, in the order of `_measures`
        self._measures: list[np.ndarray] = []
        self._norms: list[np.ndarray] = []
        self._sums: dict[str, np.ndarray] = {}
        self._vectors: dict[int, dict[int, np.ndarray]] = {number: {} for number in settings.vector_layers}
        self._behaviour: dict[int, np.ndarray] = {}

    def add(self, places: list[int]) -> None:
        """Measure one batch of texts of the same length."""
        first, plan = self._block.first, self._plan
        kept = tuple(at for at, place in enumerate(places) if plan.keeps_vectors(first + place))
        compared = tuple(at for at, place in enumerate(places) if plan.compares_heads(first + place))
        numbers = measure_batch(
            self._model,
            [self.sentences[place] for place in places],
            self._keys,
            own=plan.settings.own,
            strong=plan.settings.strong,
            vectors=plan.settings.vector_layers,
            vectors_of=kept,
            similarity_of=compared,
        )
        usable = np.flatnonzero(numbers.usable)
        for at in np.flatnonzero(~numbers.usable).tolist():
            self.failed[first + places[at]] = "Its attention, its vectors or a measure of it are not finite."
        self._usable += [places[at] for at in usable]
        self._measures.append(numbers.measures[usable])
        self._norms.append(numbers.norms[usable])
        self._add_sums(numbers, usable)
        for row, at in enumerate(kept):
            if numbers.usable[at] and numbers.behaviour is not None:
                self._behaviour[places[at]] = numbers.behaviour[row]
                for number, vectors in numbers.vectors.items():
                    self._vectors[number][places[at]] = vectors[row]

    def _add_sums(self, numbers: BatchNumbers, usable: np.ndarray) -> None:
        keys = numbers.key_tokens[usable].transpose(0, 3, 1, 2)  # [B, G, L, H]
        present = np.nan_to_num(keys)
        compared = [divergence for text, divergence in numbers.similarity.items() if numbers.usable[text]]
        n = self._model.config.n_layers * self._model.config.n_heads
        added = {
            "pairs": numbers.pairs * len(usable),
            "profile": fixed(numbers.profile[usable]).sum(1),
            "key_n": (~np.isnan(keys[..., 0, 0])).sum(0),
            "key_sum": fixed(present).sum(1),
            "key_square": fixed(present**2).sum(1),
            "similarity_texts": np.array(len(compared)),
            "similarity": fixed(np.reshape(compared, (-1, n, n))).sum(1),
        }
        for name, array in added.items():
            self._sums[name] = self._sums.get(name, 0) + array

    def totals(self) -> Totals:
        """The sums over the block."""
        config, settings = self._model.config, self._plan.settings
        names = settings.measures
        shape = (len(names), config.n_layers, config.n_heads)
        values = np.concatenate([np.zeros((0, *shape)), *self._measures])  # [B, M, L, H]
        texts = np.array(self._usable, dtype=np.int64) + self._block.first
        sentences = [self.sentences[place] for place in self._usable]
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        measured = ~np.isnan(values[..., 0, 0])  # [B, M]: it depends on the tokens, not on the head
        known = np.nan_to_num(values)
        total, square = fixed(known), fixed(known**2)  # [2, B, M, L, H]
        sums = {
            "blocks": np.arange(self._plan.n_blocks) == self._block.number,
            "texts": np.array(len(texts)),
            "tokens": lengths.sum(),
            "cut": np.array(sum(sentence.cut for sentence in sentences)),
            "failed": np.array(len(self.failed)),
            "lengths": np.bincount(lengths, minlength=self._most_tokens + 1),
            "n": measured.sum(0),
            "sum": total.sum(1),
            "square": square.sum(1),
            "histogram": self._histogram(values, measured),
        }
        if self._norms:
            norms = np.concatenate(self._norms)
            sums |= {"norm_sum": fixed(norms).sum(1), "norm_square": fixed(norms**2).sum(1)}
        sums |= self._of_labels(measured, total, square)
        of_type = head_types.holds({name: values[:, place] for place, name in enumerate(names)})
        holding = np.stack([of_type[one.name] for one in head_types.HEAD_TYPES], 1)  # [B, types, L, H]
        sums["type"] = holding.sum(0)
        if len(texts):
            weights = bootstrap_weights(texts.tolist(), settings.replicates, settings.seed)
            sums |= {
                "boot_texts": weights.sum(1).astype(np.int64),
                "boot_n": (weights @ measured).astype(np.int64),
                "boot_sum": weighted_sums(weights, values),
                "boot_type": weighted_sums(weights, holding.astype(np.float64)),
            }
        top = Top.of_texts(values, lengths, texts, settings.examples)
        return Totals({name: np.asarray(a, np.int64) for name, a in (sums | self._sums).items()}, top, self.failed)

    def _histogram(self, values: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """[M, BINS, L, H]: texts in each bin; the last bin has its upper edge."""
        n_heads = int(np.prod(values.shape[2:]))
        names = self._plan.settings.measures
        found = np.zeros((len(names), BINS, n_heads), dtype=np.int64)
        heads = np.arange(n_heads)
        for measure, edges in enumerate(bins(self._model.config.max_tokens, names)):
            some = values[measured[:, measure], measure].reshape(-1, n_heads)
            place = np.searchsorted(edges, some, side="right").clip(1, BINS) - 1
            counts = np.bincount((place * n_heads + heads).ravel(), minlength=BINS * n_heads)
            found[measure] = counts.reshape(BINS, n_heads)
        return found.reshape(len(names), BINS, *values.shape[2:])

    def _of_labels(self, measured: np.ndarray, total: np.ndarray, square: np.ndarray) -> dict[str, np.ndarray]:
        found = {}
        for column, names in self._plan.labels.items():
            labels = np.array([self._block.labels[column][place] for place in self._usable], dtype=object)
            rows = [np.flatnonzero(labels == name) for name in names]
            found[f"label/{column}/n"] = np.stack([measured[some].sum(0) for some in rows])
            found[f"label/{column}/sum"] = np.stack([total[:, some].sum(1) for some in rows], 1)
            found[f"label/{column}/square"] = np.stack([square[:, some].sum(1) for some in rows], 1)
        return found

    def files(self) -> dict[str, bytes]:
        """The vectors and tokens of the sampled texts, in the order of the texts."""
        places = sorted(self._behaviour)
        if not places:
            return {}
        name = f"{self._block.number:06}"
        tensors = {
            f"layer.{number}": np.concatenate([vectors[place] for place in places])
            for number, vectors in self._vectors.items()
        }
        tensors["behaviour"] = np.concatenate([self._behaviour[place] for place in places])
        # safetensors writes the memory as it lies, and `behaviour` is a transposed view.
        tensors = {key: np.ascontiguousarray(tensor) for key, tensor in tensors.items()}
        return {f"vectors/{name}.safetensors": save(tensors), f"tokens/{name}.parquet": self._token_table(places)}

    def _token_table(self, places: list[int]) -> bytes:
        rows = [(place, at) for place in places for at in range(len(self.sentences[place]))]
        found = [(self.sentences[place], at) for place, at in rows]
        table = pa.table(
            {
                "text": pa.array([self._block.first + place for place, _ in rows], pa.int64()),
                "position": pa.array([at for _, at in rows], pa.int32()),
                "token": pa.array([sentence.tokens[at] for sentence, at in found]).dictionary_encode(),
                "special": pa.array([sentence.special[at] for sentence, at in found]),
                "start": pa.array([sentence.offsets[at][0] for sentence, at in found], pa.int32()),
                "end": pa.array([sentence.offsets[at][1] for sentence, at in found], pa.int32()),
            }
        )
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        return buffer.getvalue()

"""What is known of the texts so far: exact sums, the strongest examples, and the texts that failed.

`Totals.merge` is associative and commutative bit for bit, so blocks may arrive in any order, from any worker.

Shapes: M measures, L layers, H heads, N = L x H, V values of a label, R replicates, G key tokens, O offsets, S norms.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from encoder.corpus.top import Top

#: Texts that failed and are named.
MOST_NAMED = 1_000


@dataclass(eq=False)
class Totals:
    """sums: name -> int64 array, added; top: the strongest examples; failed: text -> why, the first MOST_NAMED.

    The sums, [2, ...] where they are fixed-point (`exact_sums`):
    blocks [blocks]: 1 for each that is counted; texts, tokens, cut, failed [];
    lengths [most tokens + 1]: texts by their number of tokens;
    n [M], sum, square [2, M, L, H], histogram [M, bins, L, H]: of each measure over texts;
    type [types, L, H]: texts in which a head has a type;
    boot_texts [R], boot_n [R, M], boot_sum [R, M, L, H], boot_type [R, types, L, H]: with the weights of `bootstrap`;
    pairs [O], profile [2, L, H, O]; key_n [G], key_sum, key_square [2, G, L, H]; norm_sum, norm_square [2, S];
    similarity_texts [], similarity [2, N, N]; label/C/n [V, M], label/C/sum, label/C/square [2, V, M, L, H].
    """

    sums: dict[str, np.ndarray]
    top: Top
    failed: dict[int, str]

    def merge(self, other: Totals) -> None:
        """Add other texts to these."""
        for name, array in other.sums.items():
            self.sums[name] = self.sums[name] + array if name in self.sums else array
        self.top = self.top.merged(other.top)
        self.failed = dict(sorted((self.failed | other.failed).items())[:MOST_NAMED])

    def to_bytes(self) -> bytes:
        """As safetensors."""
        from safetensors.numpy import save

        arrays = {f"sums/{name}": np.array(array, order="C") for name, array in self.sums.items()}
        arrays |= {f"top/{name}": np.array(array, order="C") for name, array in vars(self.top).items()}
        content: bytes = save(arrays, {"failed": json.dumps(self.failed)})
        return content

    @classmethod
    def from_bytes(cls, content: bytes) -> Totals:
        """Read what `to_bytes` wrote."""
        from safetensors.numpy import load

        arrays = load(content)
        size = int.from_bytes(content[:8], "little")
        failed = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["failed"])
        return cls(
            {name.removeprefix("sums/"): array for name, array in arrays.items() if name.startswith("sums/")},
            Top(*(arrays[f"top/{name}"] for name in ("value", "n_tokens", "text"))),
            {int(text): why for text, why in failed.items()},
        )

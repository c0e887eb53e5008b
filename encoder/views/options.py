"""How a head's weights are shown: which cells a map has, what is in them, and how far its colours run."""

from dataclasses import dataclass, fields

from encoder.maps.aggregate import Cells, Pairs, SpecialTokens

#: The views of a head in links, and their titles. "text" is the input itself.
HEAD_VIEWS = {"map": "Map", "lines": "Lines", "text": "Text", "vectors": "Q K V", "beside": "Compare"}
#: What the view Compare shows next to the open head, in links, and its title. {input}: "sentence", "image", ...
COMPARED = {"heads": "Another head", "sentences": "Another {input}", "models": "Another model"}
#: Unless a link names another one.
OTHER_SENTENCE = "The animal didn't cross the street because it was too wide."
#: The title of the model “moved”.
NORMS_MOVED = "The same weights, norms moved"

#: Layer and head, counted from 0; None: averaged over.
Place = tuple[int | None, int | None]

SPECIAL_WORDS = {"show": "shown", "zero": "cells set to 0", "renormalise": "left out, rows scaled to sum to 1"}

_PAIRS = {
    "a-b": "Only weights from the first sentence to the second are shown.",
    "b-a": "Only weights from the second sentence to the first are shown.",
    "a-a": "Only weights within the first sentence are shown.",
    "b-b": "Only weights within the second sentence are shown.",
}
_WORDS = "Weights to the pieces of a word are summed; weights from them are averaged."


@dataclass(frozen=True)
class Options:
    """Options of the views Map, Lines and Text.

    special, pairs, words, padding: as in `aggregate.token_map`. scale_to_max: colours run to the largest weight instead
    of to 1; scale_to_words: in maps, to the largest weight between words, and larger weights have the last colour; log:
    colours follow the logarithm over four decades. Lines use none of these three.
    """

    special: SpecialTokens = "show"
    pairs: Pairs = "all"
    words: bool = False
    padding: bool = False
    scale_to_max: bool = False
    scale_to_words: bool = False
    log: bool = False

    @property
    def cells(self) -> Cells:
        """The first four options, as keyword arguments."""
        return {"special": self.special, "pairs": self.pairs, "words": self.words, "padding": self.padding}

    def changed(self) -> dict[str, object]:
        """The options that differ from their defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}

    def sentences(self) -> list[str]:
        """What the options do to the weights."""
        said = []
        if self.special == "zero":
            said.append("The rows and columns of special tokens are set to 0. The model itself attends to them.")
        elif self.special == "renormalise":
            total = "1" if self.pairs == "all" else "1 over both sentences"
            said.append(
                f"Special tokens are left out, and every other row is scaled to sum to {total}. "
                "The model itself attends to them."
            )
        if self.pairs != "all":
            said.append(_PAIRS[self.pairs])
        if self.words:
            said.append(_WORDS)
        return said

    def map_sentences(self) -> list[str]:
        """How to read a map's rows and columns, and what the options do to the weights."""
        unit = "word" if self.words else "token"
        said = f"Each row is a query {unit}, each column a key {unit} that it attends to."
        if self.special == "zero" or (self.special == "show" and self.pairs != "all"):
            said += " A row sums to less than 1, because not all keys count."
        elif self.special == "show":
            said += " Each row sums to 1."
        return [said, *self.sentences()]

    @property
    def colours(self) -> str:
        """The scale of the colours, in words."""
        scale = "logarithmic" if self.log else "linear"
        if self.scale_to_max:
            return f"{scale}, to the largest weight"
        return f"{scale}, to the largest weight between words" if self.scale_to_words else scale

    def facts(self) -> dict[str, str]:
        """The options that decide the weights, in words: all that are not at their default, and special tokens."""
        said = {"Special tokens": SPECIAL_WORDS[self.special]}
        if self.pairs != "all":
            said["Between the sentences"] = self.pairs.upper().replace("-", " → ")
        if self.words:
            said["Whole words"] = "weights to the pieces of a word are summed, weights from them averaged"
        if self.padding:
            said["Padding"] = "shown"
        return said


#: All weights as the model computed them.
AS_COMPUTED = Options()

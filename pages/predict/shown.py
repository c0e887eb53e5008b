"""What the page predicts: whose models, and which sentence. Other pages keep the model and the sentence."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from pages.core.inputs import edited
from pages.core.stores import cache, model_store
from pages.core.view import View, norm_pair, text_words
from pages.core.view.text_words import Word
from pages.predict.params import EXAMPLE, Params

MASK = "[MASK]"


@dataclass(frozen=True)
class Shown:
    """keys: name -> model; mask: its mask token; text, pair: the sentence; hidden: the word that the mask replaces;
    word: its number among the words of the sentence; of_page: whether the sentence is the page's own."""

    keys: dict[str, cache.ModelKey]
    mask: str
    text: str
    pair: str | None
    hidden: str = ""
    word: int | None = None
    of_page: bool = False

    def view(self, view: View) -> View:
        """The view with this sentence, in the reader's model if that predicts, otherwise in the first one."""
        first = next(iter(self.keys.values()))
        key = next((key for key in self.keys.values() if dataclasses.replace(key, edits=()) == view.model), first)
        return dataclasses.replace(view, model=key, text=self.text, pair=self.pair)


def shown(view: View, params: Params) -> Shown:
    """What the page shows for this view. A model without a masked-word head is replaced by the twins."""
    keys = models(view)
    mask = model_store.model(next(iter(keys.values()))).tokenizer.mask_token or MASK
    words = text_words.words(view.trace, mask)
    has_mask = mask in f"{view.text}{view.pair or ''}"
    number = params.word if params.word is not None and params.word < len(words) else None
    if number is None and not has_mask and params.sentence == EXAMPLE:
        number = usual(view, words)
    if number is not None:
        word = words[number]
        return Shown(keys, mask, word.replaced_by(mask, view.text), view.pair, word.text, number)
    if has_mask:
        return Shown(keys, mask, view.text, view.pair, params.hidden)
    return Shown(keys, mask, params.sentence.replace(MASK, mask), None, of_page=True)


def usual(view: View, words: Sequence[Word]) -> int | None:
    """The word that is hidden until the reader chooses: that of the selected token, else a long one."""
    source = view.trace.source
    if source is None or not words:
        return None
    start, end = source.offsets[view.i] if view.i is not None else (0, 0)
    of_token = [number for number, word in enumerate(words) if word.start <= start < end <= word.end]
    return (of_token or text_words.by_meaning(words))[0]


def with_edits(chosen: Shown, view: View) -> Shown:
    """The same models with the recipe's edits, where they fit; not for another model or sentence than the reader's."""
    if chosen.of_page or view.loaded.mlm_head is None:
        return chosen
    active = edited.applied(chosen.view(view)).model.edits
    return dataclasses.replace(
        chosen, keys={name: dataclasses.replace(key, edits=active) for name, key in chosen.keys.items()}
    )


def models(view: View) -> dict[str, cache.ModelKey]:
    """Name -> model: the selected model only, or both twins for a twin and for a model that cannot predict."""
    if view.loaded.mlm_head is not None and view.model.source not in norm_pair.TWINS:
        return {view.loaded.name: view.model}
    if view.loaded.mlm_head is None:
        twin = cache.ModelKey(source="twin-pre", device=view.model.device, dtype=view.model.dtype)
        view = dataclasses.replace(view, model=twin)
    return {f"twin-{placement}": key for placement, key in norm_pair.pair_of(view).keys.items()}

"""What the page predicts: whose models, and which sentence. The sidebar keeps its own model and sentence."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from pages.core.inputs import edited
from pages.core.stores import cache, model_store
from pages.core.view import norm_pair
from pages.core.view.view import View
from pages.masked_words import prediction
from pages.masked_words.params import Params

MASK = "[MASK]"


@dataclass(frozen=True)
class Shown:
    """keys: name -> model; mask: its mask token; text, pair: the sentence; hidden: the word that the mask replaces;
    of_page: whether the sentence is the page's own, as the sidebar's has no mask."""

    keys: dict[str, cache.ModelKey]
    mask: str
    text: str
    pair: str | None
    hidden: str = ""
    of_page: bool = False

    def view(self, view: View) -> View:
        """The view with this sentence, in the sidebar's model if that predicts, otherwise in the first one."""
        first = next(iter(self.keys.values()))
        key = next((key for key in self.keys.values() if dataclasses.replace(key, edits=()) == view.model), first)
        return dataclasses.replace(view, model=key, text=self.text, pair=self.pair)


def shown(view: View, params: Params) -> Shown:
    """What the page shows for this view. A model without a masked-word head is replaced by the twins."""
    keys = models(view)
    mask = model_store.model(next(iter(keys.values()))).tokenizer.mask_token or MASK
    words = prediction.words(view.trace, mask)
    if params.word is not None and params.word < len(words):
        word = words[params.word]
        return Shown(keys, mask, prediction.hide(view.text, word, mask), view.pair, word.text)
    if mask in f"{view.text}{view.pair or ''}":
        return Shown(keys, mask, view.text, view.pair, params.hidden)
    return Shown(keys, mask, params.sentence.replace(MASK, mask), None, of_page=True)


def with_edits(chosen: Shown, view: View) -> Shown:
    """The same models with the recipe's edits, where they fit; not for another model or sentence than the sidebar's."""
    if chosen.of_page or view.loaded.mlm_head is None:
        return chosen
    active = edited.applied(chosen.view(view)).model.edits
    return dataclasses.replace(
        chosen, keys={name: dataclasses.replace(key, edits=active) for name, key in chosen.keys.items()}
    )


def models(view: View) -> dict[str, cache.ModelKey]:
    """Name -> model: the selected model alone, or both twins for a twin and for a model that cannot predict."""
    if view.loaded.mlm_head is not None and view.model.source not in norm_pair.TWINS:
        return {view.loaded.name: view.model}
    if view.loaded.mlm_head is None:
        twin = cache.ModelKey(source="twin-pre", device=view.model.device, dtype=view.model.dtype)
        view = dataclasses.replace(view, model=twin)
    return {f"twin-{placement}": key for placement, key in norm_pair.pair_of(view).keys.items()}

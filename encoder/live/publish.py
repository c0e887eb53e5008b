"""`encoderscope publish MODEL --live`: a model of your own as a folder whose pages compute in the browser."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from encoder import disk
from encoder.checkpoints import BUNDLED
from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError, quoted
from encoder.live import bounds, site
from encoder.live.packed import Bits, BrowserModel, browser_model, prompts, rounding
from encoder.live.pages import SiteModel, SitePage, by_hand_page, heads_page, model_page, predict_page, similarity_page
from encoder.run import Media, ModelSpec, Run
from encoder.run.address import write_text
from encoder.views import stills
from encoder.views.model_picture import model_picture

#: What a reader tries first, unless the publisher names other texts.
EXAMPLES = (
    "The animal didn't cross the street because it was too tired.",
    "The cat sat on the mat because the mat was warm.",
    "She sat on the bank of the river and thought about her money in the bank.",
)
#: Texts on which the rounding of the weights is measured, besides the examples.
MEASURED = (
    "The keys to the old wooden cabinet are on the table.",
    "How do I reset my password?",
    "In 2023, 12.5% of the 48 patients (n = 6) improved.",
    "def mean(x): return sum(x) / len(x)",
    "Une phrase courte, eine kurze, una breve.",
)
HIDDEN = "The keys to the old cabinet {mask} on the table."
#: Letters of a text; a page opens none longer.
MOST_LETTERS = 4000


@dataclass(frozen=True)
class Published:
    """What was written. n_bytes: of the model's files; note: what rounding its weights changes, as its pages say."""

    index: Path
    n_pages: int
    n_bytes: int
    note: str


def publish_live(
    source: str,
    folder: str | Path,
    *,
    bits: Bits = 16,
    texts: Sequence[str] = (),
    device: str = "auto",
    address: str = "",
) -> Published:
    """Write pages that compute a model in the reader's browser, for any web server.

    source: what `encoder.load` accepts; bits: of each number of a matrix in the files; texts: what the pages offer to
    try, the first of which they open with; address: where the folder will be; other programs then show a picture next
    to a link. Raises EncoderError for a model that the engine in the browser does not
    compute or that is too large, LoadError for the model, SaveError if the folder cannot be written or has other files.
    """
    disk.check_folder(folder, site.KIND)
    examples = [_checked(text) for text in texts] or list(EXAMPLES)
    first, *_ = ModelSpec(source=source, device=device).checkpoint().towers.values()
    view = f"heads?{write_text(Run(ModelSpec(source), Media(first.takes, 'FILE')))}"
    command = f'encoderscope publish "{view}" --out {shlex.quote(str(folder))}'
    model = of_text(first, f"--live writes pages that read texts. Publish a view of a file: {command}")
    files = browser_model(model, bits)
    note = _note(model, bits, [*examples, *MEASURED])
    shown = _shown(source, model, files, note)
    pages = _pages(model, shown, examples)
    trace = model.trace(examples[0])
    site.write(
        Path(folder),
        pages,
        {shown: files},
        first=model_picture(trace, model=shown.title),
        examples=examples[:2],
        hidden=_hidden(model),
        more={"hand": site.by_hand()},
        address=address,
        still=stills.of_all_heads(trace, model.name),
    )
    return Published(Path(folder) / "index.html", len(pages), files.n_bytes, note)


def _checked(text: str) -> str:
    if not text.strip() or len(text) > MOST_LETTERS:
        raise EncoderError(f"{quoted(text)} has {len(text)} letters: specify a text of 1 to {MOST_LETTERS}.")
    return text


def _pages(model: TextEncoder, shown: SiteModel, examples: Sequence[str]) -> list[SitePage]:
    """The pages of a model; Predict where it predicts hidden words."""
    pages = [model_page([shown], examples), heads_page([shown], examples), similarity_page([shown])]
    if bounds.predicts(model):
        pages.append(predict_page([shown], [_hidden(model)]))
    return [*pages, by_hand_page()]


def _hidden(model: TextEncoder) -> str:
    return HIDDEN.format(mask=model.tokenizer.mask_token or "[MASK]")


def _shown(source: str, model: TextEncoder, files: BrowserModel, note: str) -> SiteModel:
    """How pages name a model. A folder of the publisher's stays out of their addresses."""
    layers, size = model.config.n_layers, files.n_bytes / 1e6
    title = f"{model.name} ({layers} layer{'s' * (layers > 1)}, {size:.{1 if size < 10 else 0}f} MB)"
    if source in BUNDLED:
        return SiteModel(source, title, note, {"model": source})
    name = re.sub(r"[^a-z0-9]+", "-", model.name.lower()).strip("-")[:40] or "model"
    link = None if ModelSpec(source).is_here else {"model": "other", "source": source}
    return SiteModel(name, title, note, link)


def _note(model: TextEncoder, bits: Bits, texts: Sequence[str]) -> str:
    """What rounding the weights changes, measured; and the prompt."""
    a, b = prompts(model)
    said = f"“{a}” before each sentence" if a == b else f"“{a}” before sentence A and “{b}” before sentence B"
    return _rounded(model, bits, texts) + (f" Similarity puts {said}; other pages do not." if a or b else "")


def _rounded(model: TextEncoder, bits: Bits, texts: Sequence[str]) -> str:
    found = rounding(model, texts, bits)
    if found.share == 0:
        return f"The weights of {model.name} are the original ones."
    return (
        f"The weights of {model.name} are rounded to {bits} bits here. Measured on {len(texts)} texts: the largest "
        f"difference is {found.share:.1g} of the largest number of its kind, and the cosine of a text’s vector with "
        f"the original one is at least {_cosine(found.cosine)}."
    )


def _cosine(value: float) -> str:
    """A cosine near 1, rounded down, with the digits in which it differs from 1."""
    digits = next((n for n in range(4, 8) if value <= 1 - 10**-n), 8)
    return f"{int(value * 10**digits) / 10**digits:.{digits}f}"

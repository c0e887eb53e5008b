"""Other tools' HTML for the same sentence: bertviz' two views and attnview's page."""

import subprocess
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from benchmarks import report, subjects
from encoder.inputs.text import Tokenized

#: bertviz' page fetches these: address -> npm's package and file with the same content.
#: (npm has no jQuery 2.0.0; bertviz uses three of its functions, the same in 2.1.0.)
SCRIPTS = {
    "https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js": ("requirejs@2.3.6", "package/require.js"),
    "https://cdnjs.cloudflare.com/ajax/libs/d3/5.7.0/d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
    "https://cdnjs.cloudflare.com/ajax/libs/jquery/2.0.0/jquery.min.js": ("jquery@2.1.0", "package/dist/jquery.min.js"),
    "https://ajax.googleapis.com/ajax/libs/jquery/2.0.0/jquery.min.js": ("jquery@2.1.0", "package/dist/jquery.min.js"),
}

#: Memory to make the page, in bytes for each weight: Python's floats, and the text three times.
BYTES_A_WEIGHT = 200


def attentions(sentence: Tokenized) -> tuple[torch.Tensor, ...]:
    """One [1, H, T, T] a layer, from transformers: the input of each rival."""
    with torch.no_grad():
        return subjects.minilm().eager(input_ids=subjects.ids(sentence), output_attentions=True).attentions


def bertviz(view: str, sentence: Tokenized) -> str:
    """All heads as small line drawings ("model_view"), or one layer's on top of each other ("head_view")."""
    import bertviz

    drawn = getattr(bertviz, view)(attentions(sentence), list(sentence.tokens), html_action="return")
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{drawn.data}</body></html>'


def attnview(sentence: Tokenized) -> str:
    """One head of any layer: a row, its strongest keys, and the numbers."""
    from attnview import from_cache, render_html

    cache = {f"blocks.{layer}.attn.hook_pattern": weights for layer, weights in enumerate(attentions(sentence))}
    return render_html(from_cache(cache, tokens=list(sentence.tokens)))


RIVALS: dict[str, Callable[[Tokenized], str]] = {
    "bertviz model_view": partial(bertviz, "model_view"),
    "bertviz head_view": partial(bertviz, "head_view"),
    "attnview": attnview,
}


PACKAGES = ("bertviz", "attnview", "transformer_lens")


def missing() -> list[str]:
    """The rivals that are not installed here."""
    return [name for name in PACKAGES if find_spec(name) is None]


def can_run(name: str, n_tokens: int) -> bool:
    """Whether the rival `name` of RIVALS is installed, and a page of so many tokens fits into the memory."""
    return name.split()[0] not in missing() and fits(n_tokens)


def fits(n_tokens: int, budget: int | None = None) -> bool:
    """Whether making a page of `n_tokens` leaves this machine half of the memory that is free now."""
    import psutil

    weights = subjects.LAYERS * subjects.HEADS * n_tokens**2
    return weights * BYTES_A_WEIGHT < (psutil.virtual_memory().available if budget is None else budget) / 2


def scripts() -> dict[str, bytes]:
    """Address -> script, fetched once: from the address itself, or through npm. Raises OSError if neither works."""
    folder = report.RESULTS / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for address, (package, member) in SCRIPTS.items():
        kept = folder / package.replace("/", "-")
        if not kept.is_file():
            kept.write_bytes(_fetch(address, package, member))
        found[address] = kept.read_bytes()
    return found


def _fetch(address: str, package: str, member: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.read()
    except OSError:
        pass
    with tempfile.TemporaryDirectory() as name:
        try:
            command = ["npm", "pack", "--silent", package]
            subprocess.run(command, cwd=name, check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError) as error:
            raise OSError(f"{address} cannot be fetched, nor npm's {package}: {error}") from error
        archive = next(Path(name).glob("*.tgz"))
        with tarfile.open(archive) as files:
            content = files.extractfile(member)
            assert content is not None, f"{package} has no {member}"
            return content.read()


def serve_scripts(context: Any) -> None:
    """Let the pages of a Playwright context find their scripts without a network."""
    found = scripts()

    def answer(route: Any) -> None:
        route.fulfill(body=found[route.request.url], content_type="text/javascript")

    for address in found:
        context.route(address, answer)

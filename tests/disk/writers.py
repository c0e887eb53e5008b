"""Every public writer of the product, by a name: what it writes to is its only argument."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import encoder
from encoder import corpus, diagnose, export
from encoder.cli import main
from encoder.diagnose.media import probe_image, write_probe
from encoder.export.published import publish
from encoder.live.publish import publish_live
from encoder.trace.trace import Trace

ONE_TEXT = ("twin-pre", "--text", "A cat sat.", "--device", "cpu")


@functools.cache
def trace() -> Trace:
    return encoder.load("twin-pre", device="cpu").trace("A cat sat.")


def command(*words: str) -> None:
    """Run the command line. Raises EncoderError with what it prints for an error."""
    options, found = main.Parser, main._found(words)
    main.run(found[0], options(found[0]).parse_intermixed_args(found[1]))


def _lesson(path: Path) -> None:
    from pages.teaching.lessons import command as lessons

    if lessons.main(["new", str(path)]):
        raise encoder.EncoderError(f"{path}: nothing was written.")


def _golden(path: Path) -> None:
    diagnose.write_golden(diagnose.make_golden("twin-pre", ["A cat sat."]), path)


def _search(path: Path) -> None:
    kept = diagnose.Excluded(path)
    kept.add([next(iter(diagnose.FAULTS["causal"].candidates(None, None)))], 0.5)
    kept.save()


def _material(path: Path) -> None:
    from pages.core.frame.frame import import_params
    from pages.teaching.lessons import material

    import_params()
    material.write(path)


def _site(path: Path) -> None:
    from docs import site

    site.write_site(path, site.pages()[:1], site.MODELS[:1], {"more.html": "more"})


def _atlas(path: Path) -> None:
    settings = corpus.Settings(vector_layers=(2,), vector_texts=4)
    corpus.build(encoder.load("twin-pre", device="cpu"), ["a cat", "a dog sat"], path, settings, replace=path.exists())


def _index(path: Path) -> None:
    """The index of an atlas next to it; `path` is a link to it, or its name."""
    from encoder.corpus import token_index

    atlas = path.with_name(f"atlas of {path.name}")
    if not atlas.exists():
        _atlas(atlas)
    folder = token_index._folder
    try:
        token_index._folder = lambda *_: path
        list(corpus.iter_index(corpus.open_atlas(atlas), 2))
    finally:
        token_index._folder = folder


#: Ending -> the command line, in each format.
OF_COMMANDS: dict[str, Callable[[Path], object]] = {
    f"embed.{ending}": lambda path: command("embed", *ONE_TEXT, "--out", str(path))
    for ending in ("csv", "parquet", "json", "jsonl", "npz", "html", "png", "svg")
}
FILES: dict[str, Callable[[Path], object]] = {
    **OF_COMMANDS,
    "trace.safetensors": lambda path: trace().save(path),
    "maps.safetensors": lambda path: encoder.attentions(trace().attentions, trace().tokens).save(path),
    "picture.html": lambda path: trace().save_html(path),
    "map.html": lambda path: export.save_html(export.map(trace(), 0, 0), path),
    "lesson.md": _lesson,
    "golden.safetensors": _golden,
    "search.safetensors": _search,
    "probe.png": lambda path: write_probe(probe_image(8, 9), path),
}
#: A writer of files that keeps an existing one.
KEEPS = {"lesson.md"}
FOLDERS: dict[str, Callable[[Path], object]] = {
    "saved": lambda path: encoder.save(encoder.load("twin-pre", device="cpu"), path),
    "saved, own layout": lambda path: encoder.save(encoder.load("twin-pre", device="cpu"), path, layout="encoderscope"),
    "published": lambda path: publish(["model?text=A+cat&model=twin-pre"], path, "cpu"),
    "atlas": _atlas,
    "index": _index,
    "material": _material,
    "site": _site,
    "live": lambda path: publish_live("twin-pre", path, device="cpu"),
}
#: Module that writes -> the writers above that use it; the others of it are what scripts of this repository write.
USED_BY: dict[str, set[str]] = {
    "encoder/cli/writing.py": set(OF_COMMANDS),
    "encoder/diagnose/golden.py": {"golden.safetensors"},
    "encoder/diagnose/excluded.py": {"search.safetensors"},
    "encoder/diagnose/media.py": {"probe.png"},
    "encoder/checkpoints/traces.py": {"trace.safetensors", "maps.safetensors"},
    "encoder/export/saved.py": {"picture.html", "map.html"},
    "pages/teaching/lessons/command.py": {"lesson.md"},
    "encoder/checkpoints/native.py": {"saved", "saved, own layout"},
    "encoder/export/published.py": {"published"},
    "encoder/corpus/staging.py": {"atlas"},
    "encoder/corpus/token_index.py": {"index"},
    "pages/teaching/lessons/material.py": {"material"},
    "encoder/live/site.py": {"site", "live"},
    "encoder/probe/recorded.py": set(),  # a file of this repository
    "pages/components/assets.py": set(),  # static files of the app, named by their content
}

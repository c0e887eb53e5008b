"""The command `encoderscope publish`: views of the app as a folder of pages, or a model that a page computes."""

import argparse

from encoder.cli.command import CommandError
from encoder.export.published import publish
from encoder.live.packed import Bits
from encoder.live.publish import publish_live

#: Options of --live.
OF_LIVE = {"bits": "--bits", "text": "--text"}


def publish_views(options: argparse.Namespace) -> int:
    """Write the folder, and say how to open it."""
    if options.live:
        return _publish_model(options)
    if given := [flag for name, flag in OF_LIVE.items() if getattr(options, name) is not None]:
        raise CommandError(f"{given[0]} goes with --live: add --live, or leave it out.")
    first, *others = publish(options.views, options.out, options.device, options.address)
    count = f"{len(others)} page{'s' * (len(others) > 1)}"
    print(f"{count} in {options.out}: open {first}, or copy the folder to any web server.")
    return 0


def _publish_model(options: argparse.Namespace) -> int:
    if len(options.views) != 1:
        raise CommandError("--live publishes one model: write a folder for each.")
    [source] = options.views
    bits: Bits = 8 if options.bits == "8" else 16
    found = publish_live(
        source, options.out, bits=bits, texts=options.text or (), device=options.device, address=options.address
    )
    print(
        f"{found.n_pages} pages and a model of {found.n_bytes / 1e6:.1f} MB in {options.out}. {found.note}\n"
        f"Copy the folder to any web server, or try it: python -m http.server --directory {options.out}"
    )
    return 0

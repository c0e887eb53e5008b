"""The command `encoderscope publish`: views of the app as a folder of pages."""

import argparse

from encoder.export.published import publish


def publish_views(options: argparse.Namespace) -> int:
    """Write the folder, and say how to open it."""
    first, *others = publish(options.views, options.out, options.device)
    print(f"{len(others)} pages in {options.out}: open {first}, or copy the folder to any web server.")
    return 0

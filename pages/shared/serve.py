"""Starts Streamlit for this app: `python serve.py run app.py --server.port=...`, as encoder/cli.py does.

Streamlit takes a folder named pages/ for its older kind of multipage app until the first visit has shown that the app
navigates by itself. A first visitor who comes by a link to a page would be told that there is no such page.
"""

from __future__ import annotations

import os
import sys

# This folder holds the app's modules, not top-level ones: a name of theirs must not hide one of Python's.
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

# torch's idle threads wait asleep: spinning, they take the cores from another session that computes at the same time.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from streamlit.runtime.pages_manager import PagesManager  # noqa: E402
from streamlit.web.cli import main  # noqa: E402

PagesManager.uses_pages_directory = False

if __name__ == "__main__":
    sys.exit(main(prog_name="streamlit"))

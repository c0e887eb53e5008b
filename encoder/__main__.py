"""`python -m encoder`: the command `encoderscope`, where its script is not on the path."""

import sys

from encoder.cli.main import main

sys.exit(main())

"""Runs the command `patchkit` for `python -m patchkit`."""

import sys

from patchkit.cli import main

sys.exit(main())

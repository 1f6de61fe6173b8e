"""`python -m patchkit` is the command `patchkit`."""

from __future__ import annotations

import sys

from patchkit.cli import main

sys.exit(main())

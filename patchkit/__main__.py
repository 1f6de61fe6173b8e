"""`python -m patchkit` is the command `patchkit`."""

import sys

from patchkit.cli import main

sys.exit(main())

from __future__ import annotations

import sys

from support.packages import REPOSITORY

# The simulated runner is that of the workflows with vLLM.
sys.path.append(str(REPOSITORY / "tests" / "e2e"))

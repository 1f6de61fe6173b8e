"""
What a release of vLLM lacks for the SIMULATED machine: changes that no real NPU needs.

Whoever quotes a run on simulated NPUs names the rows of this pack that were selected for it.
"""

from patchkit import Patch

PATCHES: tuple[Patch, ...] = ()

"""SIMULATION of vLLM's platform plugin for an NPU machine; active where `SIMNPU=1` is set.

vLLM calls `register` before its platform is known, so nothing of vLLM may be imported here.
"""

from __future__ import annotations

import os


def register() -> str | None:
    """Name the platform class, or None where this machine simulates nothing."""
    if os.environ.get("SIMNPU") == "1":
        return "simnpu_platform.platform.SimNPUPlatform"
    return None

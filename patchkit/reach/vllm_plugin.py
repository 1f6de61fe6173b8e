"""vLLM's plugin entry points: where patchkit is installed, they arm every vLLM process."""

from __future__ import annotations

import os

from patchkit.process.roles import tests_decide
from patchkit.reach.arming import arm, current


def platform() -> None:
    """
    Arm as soon as vLLM looks for its platform, since 0.24 during `import vllm`.

    vLLM swallows what is raised here; `general` raises it again. None means: no platform. In a
    test run, where tests decide which patches apply, neither function arms.
    """
    if not tests_decide(os.environ):
        arm()


def general() -> None:
    """
    Arm when vLLM loads its general plugins.

    Raises:
        PatchkitError: a setting or a row is malformed, or a required patch failed.

    """
    session = current() if tests_decide(os.environ) else arm()
    if session is not None:
        session.stop_if_failed()

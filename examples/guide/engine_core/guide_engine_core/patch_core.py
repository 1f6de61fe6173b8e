"""Upstream: `run_engine_core` makes a `DPEngineCoreProc` for a model with experts and more than one
data-parallel rank, else an `EngineCoreProc`. The first derives from the second as it was when the
module was executed, so replacing `EngineCoreProc` does not change `DPEngineCoreProc`.

Neither class here has an `__init__`: upstream's actors on Ray call it with an object of their own.
"""

import os

from vllm.v1.engine.core import DPEngineCoreProc, EngineCoreProc


def pin() -> None:
    """Keep this thread, and those that it starts, on the CPUs of `ENGINE_CORE_CPUS=0,1`."""
    os.sched_setaffinity(0, map(int, os.environ["ENGINE_CORE_CPUS"].split(",")))


class PinnedEngineCoreProc(EngineCoreProc):  # type: ignore[misc, unused-ignore]
    """The engine core, on its own CPUs once its workers have been started."""

    def run_busy_loop(self) -> None:
        """Run the engine core's loop."""
        pin()
        super().run_busy_loop()


class PinnedDPEngineCoreProc(DPEngineCoreProc):  # type: ignore[misc, unused-ignore]
    """The same for data parallelism with experts, whose loop is another."""

    def run_busy_loop(self) -> None:
        """Run the engine core's loop."""
        pin()
        super().run_busy_loop()

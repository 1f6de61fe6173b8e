"""
What releases of vLLM lack for the SIMULATED machine: changes that no real NPU needs.

Whoever quotes a run on simulated NPUs names the rows of this pack that were selected for it.
"""

from patchkit import Patch, Role, Wrap

_UPSTREAM = "none: vLLM does not support its CPU workers on Ray"

PATCHES = (
    Patch(
        name="simnpu-worker-device",
        body="patch_cpu_worker",
        requires=("vllm>=0.11.1,<0.23", "ray"),
        roles=frozenset({Role.WORKER}),
        changes=(
            Wrap("vllm.v1.worker.cpu_worker:CPUWorker.init_device", by="and_name_the_device"),
        ),
        why=(
            "Ray's compiled graph asserts that a worker has a device, and makes it the current one "
            "of its thread. The CPU's worker, which computes for the simulated NPU, names none."
        ),
        upstream=_UPSTREAM,
        sunset="vLLM 0.23, whose CPUWorker names its device",
    ),
)

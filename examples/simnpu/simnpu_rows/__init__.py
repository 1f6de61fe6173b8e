"""What releases of vLLM lack for the SIMULATED machine: changes that no real NPU needs.

Whoever quotes a run on simulated NPUs names the rows of this pack that were selected for it.
"""

from patchkit import Patch, Role, Wrap

_WORKER = frozenset({Role.WORKER})
_UPSTREAM = "none: vLLM does not support its CPU workers on Ray"

PATCHES = (
    Patch(
        name="simnpu-worker-device",
        body="patch_cpu_worker",
        requires=("vllm>=0.11.1,<0.23", "ray"),
        roles=_WORKER,
        changes=(
            Wrap(
                "vllm.v1.worker.cpu_worker:CPUWorker.init_device",
                by="and_name_the_device",
            ),
        ),
        why=(
            "Ray's compiled graph asserts that a worker has a device, and makes it the current one "
            "of its thread. The CPU's worker, which computes for the simulated NPU, names none."
        ),
        upstream=_UPSTREAM,
        sunset="vLLM 0.23, whose CPUWorker names its device",
    ),
    Patch(
        name="simnpu-weights-on-cpu",
        body="patch_worker_base",
        requires=("vllm>=0.7,<0.10",),
        roles=_WORKER,
        changes=(Wrap("vllm.worker.worker_base:WorkerBase.__init__", by="on_cpu"),),
        why=(
            "The configuration names the device npu, which the simulation cannot compute on. "
            "Before 0.10 a worker has no other setting for where its weights go."
        ),
        upstream=_UPSTREAM,
        sunset="vLLM 0.10, which has LoadConfig.device",
    ),
    Patch(
        name="simnpu-all-reduce",
        body="patch_cpu_communicator",
        requires=("vllm>=0.7.3,<0.8",),
        roles=_WORKER,
        changes=(
            Wrap(
                "vllm.distributed.device_communicators.cpu_communicator:CpuCommunicator.all_reduce",
                by="and_return_it",
            ),
        ),
        why=(
            "CpuCommunicator returns what torch.distributed.all_reduce returns, which is None: "
            "only with intel_extension_for_pytorch is it the tensor."
        ),
        upstream="none: mended in 0.8.0",
        sunset="vLLM 0.8, which returns the tensor",
    ),
)

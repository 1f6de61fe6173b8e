"""Patches for the processes that hold no model: main and engine-core."""

import os

from patchkit.core.rows.declaration import AfterImport, Patch, Replace, Role, Wrap
from patchkit.platform.cpu_ray import ROW as CPU_ON_RAY
from patchkit.platform.old_ray import ROWS as OLD_RAY

_BACKEND = () if os.environ.get("PATCHKIT_DEVICE_BACKEND") else ("torch_npu",)
"""The distribution that rows require; none for a module that the user names, as it may belong to no
distribution. The body's `is_installed` looks for that module instead."""
_WHY_UNPICKLE = (
    "Ray unpickles a worker's arguments, and multiprocessing a spawned engine core's "
    "configuration, before anything has imported the device backend. Device strings such as "
    "'npu:0' then fail with 'Expected one of cpu, cuda, ... device type at start of device string'."
)
_UPSTREAM = "none: upstream knows its own device backends only"
_SUNSET = (
    "vLLM imports the platform's device module before a worker's arguments are unpickled, in "
    "every executor"
)


def _ray_worker(name: str, body: str, vllm: str, change: Replace) -> Patch:
    """Make the row that replaces the actor of one Ray executor, so that it has the device backend.

    Each executor has its own module and releases.
    """
    return Patch(
        name=name,
        body=body,
        requires=(vllm, "ray", *_BACKEND),
        changes=(change,),
        when="is_installed",
        after=("device-backend-after-torch",),
        why=_WHY_UNPICKLE,
        upstream=_UPSTREAM,
        sunset=_SUNSET,
    )


PATCHES = (
    CPU_ON_RAY,
    Patch(
        name="device-backend-after-torch",
        body="patch_torch",
        requires=("vllm>=0.5,<0.34", *_BACKEND),
        roles=frozenset(Role),
        changes=(AfterImport("torch", call="import_backend"),),
        when="is_installed",
        why=_WHY_UNPICKLE,
        upstream=_UPSTREAM,
        sunset=_SUNSET,
    ),
    _ray_worker(
        "ray-worker-torch-npu",
        "patch_ray_utils",
        "vllm>=0.11.1,<0.33",
        Replace(
            "vllm.v1.executor.ray_utils:RayWorkerWrapper", by="NPURayWorkerWrapper"
        ),
    ),
    # The first V1 had an executor for Ray in 0.6.6 only, until 0.11.1 brought it back.
    _ray_worker(
        "ray-worker-early-v1-torch-npu",
        "patch_ray_utils",
        "vllm>=0.6.6,<0.7",
        Replace(
            "vllm.v1.executor.ray_utils:RayWorkerWrapper", by="NPURayWorkerWrapper"
        ),
    ),
    _ray_worker(
        "ray-worker-v2-torch-npu",
        "patch_ray_executor_v2",
        "vllm>=0.20,<0.34",
        Replace(
            "vllm.v1.executor.ray_executor_v2:RayWorkerProc", by="NPURayWorkerProc"
        ),
    ),
    _ray_worker(
        "ray-worker-v0-torch-npu",
        "patch_executor_ray_utils",
        "vllm>=0.5,<0.11.1",
        Replace("vllm.executor.ray_utils:RayWorkerWrapper", by="NPURayWorkerWrapper"),
    ),
    Patch(
        name="ray-actors-carry-patchkit",
        body="patch_actor",
        requires=("ray>=2.9,<3",),
        roles=frozenset(Role),
        changes=(Wrap("ray.actor:ActorClass._remote", by="with_patchkit"),),
        why=(
            "Ray's raylet starts worker processes, so they inherit neither the environment nor "
            "the patches of the process that asked for them. A worker must know its packs and "
            "its role before its arguments are unpickled."
        ),
        upstream="none: it is patchkit's own way into engines' actors",
        sunset="Ray honours a setup hook in an actor's own runtime environment",
    ),
    *OLD_RAY,
)

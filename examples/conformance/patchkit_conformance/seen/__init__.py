"""A pack with one patch a role, whose bodies write down which process ran them."""

from patchkit import Patch, Role, Wrap

VARIABLE = "CONFORMANCE_SEEN"
"""Names the file that bodies write to; it travels to Ray's workers as every row's `env` does."""


def _row(role: Role, name: str, requires: str, target: str) -> Patch:
    """One target that every run of an engine calls in that role, and in no other."""
    return Patch(
        name=name,
        body="patch_seen",
        requires=(requires,),
        roles=frozenset({role}),
        changes=(Wrap(target, by=role.value.replace("-", "_")),),
        env=VARIABLE,
        why="The conformance run has to see that a patch of this role runs, and where.",
        upstream="none: it changes nothing",
        sunset="never: it is part of the conformance run",
    )


PATCHES = (
    _row(
        Role.MAIN,
        "conformance-main",
        "vllm>=0.7,<0.34",
        "vllm.entrypoints.llm:LLM.generate",
    ),
    _row(
        Role.ENGINE_CORE,
        "conformance-core",
        "vllm>=0.8.2,<0.34",
        "vllm.v1.core.sched.scheduler:Scheduler.schedule",
    ),
    _row(
        Role.ENGINE_CORE,
        "conformance-core-v0",
        "vllm>=0.7,<0.11",
        "vllm.core.scheduler:Scheduler.schedule",
    ),
    _row(
        Role.WORKER,
        "conformance-worker",
        "vllm>=0.11.1,<0.34",
        "vllm.v1.worker.worker_base:WorkerWrapperBase.init_device",
    ),
    _row(
        Role.WORKER,
        "conformance-worker-v0",
        "vllm>=0.7,<0.11.1",
        "vllm.worker.worker_base:WorkerWrapperBase.init_worker",
    ),
)

"""The engine core's class is two classes: both are overridden, in one row."""

from patchkit import Patch, Replace, Role

CORE = "vllm.v1.engine.core"

PATCHES = (
    Patch(
        name="engine-core-cpus",
        body="patch_core",
        requires=("vllm>=0.8.5,<0.34",),
        roles={Role.ENGINE_CORE},
        changes=(
            Replace(f"{CORE}:EngineCoreProc", by="PinnedEngineCoreProc"),
            Replace(f"{CORE}:DPEngineCoreProc", by="PinnedDPEngineCoreProc"),
        ),
        env="ENGINE_CORE_CPUS",
        why="The engine core shares its CPUs with the workers' threads, and every step waits.",
        upstream="none: an example",
        sunset="vLLM has a setting for the CPUs of the engine core",
    ),
)

"""Which change is right depends on the release, also where vLLM is somebody's own build."""

from patchkit import Patch, Role, Wrap

PATCHES = (
    Patch(
        name="log-names-node",
        body="patch_system_utils",
        requires=("vllm>=0.10.1,<0.34",),
        roles=set(Role),
        changes=(
            Wrap(
                "vllm.utils:decorate_logs",
                by="decorate_logs",
                requires=("vllm<0.11.1",),
            ),
            Wrap(
                "vllm.utils.system_utils:decorate_logs",
                by="decorate_logs",
                requires=("vllm>=0.11.1",),
            ),
        ),
        env="LOG_NODE",
        why="The logs of several machines are read together, and no line says where it is from.",
        upstream="none: an example",
        sunset="vLLM has a setting for what its lines of log begin with",
    ),
)

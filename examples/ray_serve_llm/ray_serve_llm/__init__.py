"""A pack with one patch: `ray.serve.llm` for a Ray that lacks it."""

from patchkit import Patch, Provide, Role

PATCHES = (
    Patch(
        name="ray-serve-llm",
        body="patch_serve_llm",
        # Ray 2.43 has a first ray.serve.llm, with other names. vLLM has `serve --uds` since 0.10.1.
        requires=("ray>=2.35,<2.43", "vllm>=0.10.1,<0.34"),
        # A module that a deployment imports is wanted before a process has a role.
        roles=frozenset(Role),
        changes=(
            Provide("ray.serve.llm"),
            Provide("ray.serve.llm.openai_api_models", by="openai_api_models"),
        ),
        why="Applications are written for the ray.serve.llm that came with Ray 2.44.",
        upstream="none: a backport",
        sunset="Ray 2.44 is the oldest Ray that is supported",
    ),
)

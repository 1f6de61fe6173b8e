"""Patches for main and engine-core: a pack in a folder `platform` need not say so in every row."""

from patchkit import Edit, Patch, Wrap

PATCHES = (
    Patch(
        name="smaller-default-batches",
        body="patch_arg_utils",
        requires=("vllm>=0.11.1,<0.34",),
        changes=(
            Wrap(
                "vllm.engine.arg_utils:EngineArgs.get_batch_defaults",
                by="at_most_64_sequences",
            ),
        ),
        why="The default number of sequences is made for large GPUs; the device has less memory.",
        upstream="none: an example",
        sunset="the platform class of vLLM is asked for the default",
    ),
    Patch(
        name="workers-may-have-children",
        requires=("vllm>=0.8.5,<0.34",),
        changes=(
            Edit(
                "vllm.v1.executor.multiproc_executor:WorkerProc.make_worker_process",
                old="daemon=True",
                new="daemon=False",
            ),
        ),
        why="The device's compiler and profiler start processes, which a daemonic process may not.",
        upstream="none: an example",
        sunset="vLLM starts its workers as processes that are not daemonic",
    ),
)

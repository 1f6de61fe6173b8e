"""One row for two engines: a pack of somebody who runs vLLM here and SGLang there."""

from patchkit import Patch, Role, Wrap

PATCHES = (
    Patch(
        name="count-batches",
        body="patch_schedulers",
        requires=("torch>=2",),  # what both engines need; the changes say which engine
        roles={Role.ENGINE_CORE},
        changes=(
            Wrap(
                "vllm.v1.core.sched.scheduler:Scheduler.schedule",
                by="counted",
                requires=("vllm>=0.28,<0.34",),
            ),
            Wrap(
                "sglang.srt.managers.scheduler:Scheduler.run_batch",
                by="counted",
                requires=("sglang>=0.5.10,<0.6",),
            ),
        ),
        why="The trainer counts how many batches an engine has run, whichever it is.",
        upstream="none: an example",
        sunset="never: an example",
    ),
)

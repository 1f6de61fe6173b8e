"""A required row whose target is not there."""

from patchkit import Patch, Role, Wrap

PATCHES = (
    Patch(
        name="renamed-scheduler",
        body="patch_nothing",
        requires=("sglang>=0.5.10,<0.6",),
        roles={Role.ENGINE_CORE},
        changes=(
            Wrap("sglang.srt.managers.scheduler:Scheduler.run_no_batch", by="by"),
        ),
        why="Its failure has to stop the engine.",
        upstream="none: a test",
        sunset="never: a test",
    ),
)

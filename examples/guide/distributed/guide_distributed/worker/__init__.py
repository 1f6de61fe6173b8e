"""Patches for workers: a pack in a folder `worker` need not say so in every row."""

from patchkit import Add, Patch, Wrap

STATE = "vllm.distributed.parallel_state"

PATCHES = (
    Patch(
        name="exchange-between-ranks",
        body="patch_distributed",
        requires=("vllm>=0.8.5,<0.34",),
        changes=(
            Add(f"{STATE}:GroupCoordinator.all_to_all", by="all_to_all"),
            Wrap(f"{STATE}:destroy_model_parallel", by="destroy_model_parallel"),
        ),
        why=(
            "Kernels of the device exchange slices between the ranks of a group, for which "
            "GroupCoordinator has no method, over process groups that must end before the model's."
        ),
        upstream="none: an example",
        sunset="GroupCoordinator has an all_to_all",
    ),
)

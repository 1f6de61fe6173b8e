"""Patches for batch inference: `ray.data.llm` of Ray 2.44 on older Rays, and on newer ones."""

from patchkit.core.rows.declaration import Add, Patch, Provide, Replace, Role

PATCHES = (
    Patch(
        name="ray-data-async-rows",
        body="patch_plan_udf_map_op",
        requires=("ray>=2.35,<2.45",),
        roles=frozenset(Role),
        changes=(
            Replace(
                "ray.data._internal.planner.plan_udf_map_op"
                ":_generate_transform_fn_for_async_map_batches",
                by="read_to_the_end",
            ),
        ),
        when="loses_rows",
        why="Rows that an asynchronous generator yields are lost without an error if their order "
        "is to be kept, or a batch is cancelled; up to 2.39 without that, too, or they are awaited "
        "for ever.",
        upstream="none: the reading is fixed in Ray 2.40, in part in 2.38; the order in 2.45",
        sunset="Ray 2.45 is the oldest that is supported",
    ),
    Patch(
        name="ray-data-llm",
        body="patch_llm",
        requires=("ray>=2.35,<2.43",),
        roles=frozenset(Role),
        changes=(Provide("ray.data.llm"),),
        when="can_serve",
        why="Batch jobs are written for ray.data.llm, which Ray has since 2.43.",
        upstream="none: a backport of what Ray 2.44 documents",
        sunset="Ray 2.43 is the oldest that is supported",
    ),
    Patch(
        name="ray-data-llm-old-name",
        body="patch_build_llm_processor",
        requires=("ray>=2.56,<2.61",),
        roles=frozenset(Role),
        changes=(Add("ray.data.llm:build_llm_processor", by="build_llm_processor"),),
        when="is_renamed",
        why="Ray 2.56 dropped the name build_llm_processor, with which batch jobs begin.",
        upstream="none: upstream wants build_processor, which is there since 2.53",
        sunset="no batch job uses the old name",
    ),
)

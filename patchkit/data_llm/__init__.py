"""Patches for batch inference: `ray.data.llm` of Ray 2.44 on older Rays, and on newer ones."""

from patchkit.rows.declaration import Add, Edit, Patch, Provide, Role

_PLAN = "ray.data._internal.planner.plan_udf_map_op"
_ASYNC = f"{_PLAN}:_generate_transform_fn_for_async_map_batches"
_GET = "\n    out_batch = output_batch_queue.get()"
# The future comes last; its result is None, or the error of what reads and awaits the batches.
_UNTIL_DONE = """
future.add_done_callback(output_batch_queue.put)
while (out_batch := output_batch_queue.get()) is not future or future.result():
"""
_RUN = "asyncio.run_coroutine_threadsafe(process_all_batches(), loop)"
_PUT = """
async for output_batch in output_batch_iterator:
    output_batch_queue.put(output_batch)
"""
# To keep the order, a batch hands its rows to the one who awaits it in its turn.
_KEEP = """
kept = []
keeps_order = ray.data.DataContext.get_current().execution_options.preserve_order
put = kept.append if keeps_order else output_batch_queue.put
async for output_batch in output_batch_iterator:
    put(output_batch)
return kept
"""
_PUT_KEPT = """
for output_batch in await task or ():
    output_batch_queue.put(output_batch)
"""

PATCHES = (
    Patch(
        name="ray-data-async-rows",
        body="patch_plan_udf_map_op",
        requires=("ray>=2.35,<2.45",),
        roles=frozenset(Role),
        changes=(
            Edit(
                _ASYNC,
                old=f"while not future.done():{_GET}",
                new=_UNTIL_DONE,
                requires=("ray<2.38",),
                when="stops_early",
            ),
            Edit(
                _ASYNC,
                old=f"while not future.done() or not output_batch_queue.empty():{_GET}",
                new=_UNTIL_DONE,
                requires=("ray>=2.38,<2.40",),
                when="waits_too_long",
            ),
            Edit(
                _ASYNC,
                old=_RUN,
                new=f"future = {_RUN}",
                requires=("ray>=2.40",),
                when="drops_errors",
            ),
            Edit(
                _ASYNC,
                old="if out_batch is sentinel:",
                new="if out_batch is sentinel and not future.result():",
                requires=("ray>=2.40",),
                when="drops_errors",
            ),
            Edit(_ASYNC, old=_PUT, new=_KEEP, when="calls_a_task"),
            Edit(_ASYNC, old="await task()", new=_PUT_KEPT, when="calls_a_task"),
        ),
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

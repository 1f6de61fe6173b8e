"""
Rows for vLLM's Ray executor V1 on Ray 2.35 to 2.47. Executor V2 needs none of them.

A fork of Ray may keep an old version number and have the newer feature, so rows look for the
feature itself by their `when`. The row for time-outs has no `when`, as that would import `ray.dag`
before vLLM has set the variable that `ray.dag` reads.
"""

from patchkit.core.rows.declaration import Add, Edit, Patch, Wrap

_OLD_EXECUTOR = "vllm.executor.ray_distributed_executor:RayDistributedExecutor."
_EXECUTOR = "vllm.v1.executor.ray_executor:RayDistributedExecutor."
_OLDEST_RAY = 'version.parse("2.35.0")'
_WRAPPED = "if envs.VLLM_USE_RAY_WRAPPED_PP_COMM:"
_ASKED_FOR = (
    "if envs.VLLM_USE_RAY_WRAPPED_PP_COMM "
    "and os.environ.get('VLLM_USE_RAY_WRAPPED_PP_COMM'):"
)
_UPSTREAM = "none: vLLM requires Ray 2.43 or later for this executor"
_WHY_NUMBER = (
    "vLLM refuses an older Ray by its number. What it needs of the newer one, the other rows named "
    "ray-v1-… supply."
)
_SUNSET = (
    "the oldest Ray in use is {}, or the oldest vLLM 0.33, which has no executor V1"
)


def _checked(executor: str, name: str, number: str, *requires: str) -> Edit:
    """Make the Edit of a method that refuses any Ray before `number`, so that it accepts Ray 2.35.

    `executor` is the start of the target, up to the method's name.
    """
    old = f'version.parse("{number}")'
    return Edit(f"{executor}{name}", old=old, new=_OLDEST_RAY, requires=requires)


ROWS = (
    Patch(
        name="ray-v1-version-check",
        requires=("vllm>=0.8,<0.33", "ray>=2.35,<2.43"),
        changes=(
            _checked(
                _EXECUTOR, "_check_ray_cgraph_installation", "2.43.0", "vllm>=0.11.1"
            ),
            _checked(
                _OLD_EXECUTOR, "_check_ray_cgraph_installation", "2.43.0", "vllm<0.11.1"
            ),
        ),
        why=_WHY_NUMBER,
        upstream=_UPSTREAM,
        sunset=_SUNSET.format("2.43"),
    ),
    Patch(
        name="ray-v1-version-check-adag",
        requires=("vllm>=0.7,<0.8", "ray>=2.35,<2.40"),
        changes=(_checked(_OLD_EXECUTOR, "_check_ray_adag_installation", "2.40"),),
        why=_WHY_NUMBER,
        upstream=_UPSTREAM,
        sunset=_SUNSET.format("2.40"),
    ),
    Patch(
        name="ray-v1-pipeline-communicator",
        body="patch_ray_executor",
        requires=("vllm>=0.10.1,<0.33", "ray>=2.35,<2.48"),
        changes=(
            Edit(
                f"{_EXECUTOR}_compiled_ray_dag",
                old=_WRAPPED,
                new=_ASKED_FOR,
                requires=("vllm>=0.11.1",),
            ),
            Edit(
                f"{_OLD_EXECUTOR}_compiled_ray_dag",
                old=_WRAPPED,
                new=_ASKED_FOR,
                requires=("vllm<0.11.1",),
            ),
        ),
        when="has_no_accelerator_context",
        why=(
            "vLLM registers its own communicator for pipeline stages with "
            "ray.experimental.channel.accelerator_context, which came with Ray 2.48, also where "
            "there is one stage. Without it, Ray's own communicator serves, as with "
            "VLLM_USE_RAY_WRAPPED_PP_COMM=0; who sets that to 1 still gets the error."
        ),
        upstream="none: vLLM's own check lets Ray 2.43 to 2.47 pass, which lack the module too",
        sunset=_SUNSET.format("2.48"),
    ),
    Patch(
        name="ray-v1-overlap-keyword",
        body="patch_dag_node",
        requires=("vllm>=0.7,<0.33", "ray>=2.35,<2.39"),
        changes=(
            Wrap("ray.dag.dag_node:DAGNode.experimental_compile", by="without_overlap"),
        ),
        when="compiles_without_overlap",
        why=(
            "vLLM passes _overlap_gpu_communication, which came with Ray 2.39, whether or not it "
            "asks for the overlap. Before, nothing overlaps."
        ),
        upstream=_UPSTREAM,
        sunset=_SUNSET.format("2.39"),
    ),
    Patch(
        name="ray-v1-list-of-references",
        body="patch_compiled_dag_ref",
        requires=("vllm>=0.7,<0.33", "ray>=2.35,<2.37"),
        changes=(
            Add(
                "ray.experimental.compiled_dag_ref:CompiledDAGRef.__getitem__",
                by="output_of",
            ),
        ),
        when="is_one_reference",
        why=(
            "vLLM takes the first of the references that a compiled graph returns, one for each "
            "worker. Before Ray 2.37 there is one reference, to the list of outputs."
        ),
        upstream=_UPSTREAM,
        sunset=_SUNSET.format("2.37"),
    ),
    Patch(
        name="ray-v1-time-outs",
        body="patch_dag_context",
        requires=("vllm>=0.8.2,<0.33", "ray>=2.35,<2.41"),
        changes=(
            Wrap(
                f"{_EXECUTOR}_compiled_ray_dag",
                by="with_time_outs",
                requires=("vllm>=0.11.1",),
            ),
            Wrap(
                f"{_OLD_EXECUTOR}_compiled_ray_dag",
                by="with_time_outs",
                requires=("vllm<0.11.1",),
            ),
        ),
        after=("ray-v1-pipeline-communicator",),
        why=(
            "vLLM gives a step 300 s by RAY_CGRAPH_get_timeout, a name that came with Ray 2.41. "
            "Before, a step that takes more than 10 s ends the engine."
        ),
        upstream=_UPSTREAM,
        sunset=_SUNSET.format("2.41"),
    ),
    Patch(
        name="ray-v1-tensor-transport",
        body="patch_dag_node",
        requires=("vllm>=0.8,<0.33", "ray>=2.35,<2.42"),
        changes=(
            Add(
                "ray.dag.dag_node:DAGNode.with_tensor_transport",
                by="with_tensor_transport",
            ),
        ),
        when="has_no_tensor_transport",
        why=(
            "vLLM says by with_tensor_transport how tensors pass between pipeline stages, which "
            "came with Ray 2.42. Before, a type hint says so."
        ),
        upstream=_UPSTREAM,
        sunset=_SUNSET.format("2.42"),
    ),
)

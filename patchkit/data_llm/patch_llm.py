"""
Upstream: `ray.data.llm` came with Ray 2.43. This module has what Ray 2.44 documents of it, for
older Rays, and refuses options that came later.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Any, Literal

import ray
from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from ray import cloudpickle
from ray.data import ActorPoolStrategy, Dataset

from patchkit.data_llm import engine, stages
from patchkit.data_llm.stages import DATA_COLUMN, Row, RowStage

__all__ = [
    "HttpRequestProcessorConfig",
    "Processor",
    "ProcessorConfig",
    "build_llm_processor",
    "vLLMEngineProcessorConfig",
]

Function = Callable[[Row], Row] | None
_LIGHT = {"num_cpus": 0.25}
"""Resources of a stage beside the engine; with 1 CPU each, they would fill a small machine."""
_TASKS = 4
"""How many tasks Ray sends to an actor at a time by default."""


def can_serve() -> bool | str:
    """Answer the row's `when`: True if this Ray lacks the module, and can run its stages."""
    # Python's own finder: patchkit's would find the module that this row provides.
    spec = PathFinder.find_spec("ray.data.llm", list(ray.data.__path__))
    if spec is not None:
        return f"this Ray has ray.data.llm: {spec.origin}"
    # What the stages below pass to `map_batches`.
    needed = {"concurrency", "fn_constructor_kwargs", "ray_remote_args_fn"}
    missing = needed - inspect.signature(Dataset.map_batches).parameters.keys()
    if not missing:
        return True
    names = ", ".join(sorted(missing))
    return f"Dataset.map_batches of this Ray has no {names}"


class ProcessorConfig(BaseModel):
    """Options of every processor; `concurrency` is the number of replicas of each stage."""

    model_config = ConfigDict(
        extra="forbid", protected_namespaces=(), validate_assignment=True
    )

    batch_size: PositiveInt = 64
    accelerator_type: str | None = None  # None for any
    concurrency: PositiveInt = 1


class HttpRequestProcessorConfig(ProcessorConfig):
    """Options to post each row's `payload` to a URL, `qps` a second or one after the other."""

    url: str
    headers: dict[str, Any] | None = None
    qps: PositiveInt | None = None


class vLLMEngineProcessorConfig(ProcessorConfig):  # noqa: N801 - Ray's name
    """Options to have vLLM answer each row's `messages`, or its `prompt`."""

    model_source: str
    engine_kwargs: dict[str, Any] = Field(default_factory=dict)
    task_type: Literal["generate", "embed"] = "generate"
    runtime_env: dict[str, Any] | None = None
    max_pending_requests: int | None = None
    max_concurrent_batches: PositiveInt = 4
    apply_chat_template: bool = True
    chat_template: str | None = None
    tokenize: bool = True
    detokenize: bool = True
    has_image: bool = False


@dataclass
class Stage:
    """The arguments of one `Dataset.map_batches`; a user may change them before the processor runs.

    Args:
        fn: The class whose instances are called with batches.
        fn_constructor_kwargs: Arguments of the class.
        map_batches_kwargs: Further arguments of `map_batches`.
    """

    fn: type[RowStage]
    fn_constructor_kwargs: dict[str, Any]
    map_batches_kwargs: dict[str, Any]


class Processor:
    """Preprocess, stages and postprocess: called with a dataset, it returns another one.

    Args:
        config: The options.
        stages: The stages, in order.
        preprocess: Returns columns to add to a row before the stages; None adds none.
        postprocess: Returns the columns of a row of the result; None keeps all.
    """

    DATA_COLUMN = DATA_COLUMN

    def __init__(
        self,
        config: ProcessorConfig,
        stages: list[Stage],
        preprocess: Function = None,
        postprocess: Function = None,
    ) -> None:
        # `dict` stands for a function that is None: it copies a row, so adds and drops no column.
        add_columns = preprocess or dict
        result_of = postprocess or dict

        def before(row: Row) -> Row:
            return {DATA_COLUMN: cloudpickle.dumps({**row, **add_columns(row)})}

        def after(data: Row) -> Row:
            return result_of(cloudpickle.loads(data[DATA_COLUMN]))

        self.config = config
        self.preprocess = before
        self.postprocess = after
        self.stages = {stage.fn.title: stage for stage in stages}

    def __call__(self, dataset: Dataset) -> Dataset:
        """Add the processor's steps to a dataset; nothing runs before its rows are read."""
        dataset = dataset.map(self.preprocess)
        for stage in self.stages.values():
            options: dict[str, Any] = {
                "batch_size": self.config.batch_size,
                "batch_format": "numpy",
                "fn_constructor_kwargs": stage.fn_constructor_kwargs,
                **stage.map_batches_kwargs,
            }
            dataset = dataset.map_batches(stage.fn, **options)
        return dataset.map(self.postprocess)

    def list_stage_names(self) -> list[str]:
        """Name the stages between preprocess and postprocess, in order."""
        return list(self.stages)

    def get_stage_by_name(self, name: str) -> Stage:
        """Return a stage; ValueError if there is none of this name."""
        if name not in self.stages:
            raise ValueError(
                f"found stage {name!r}, expected one of {', '.join(self.stages)}"
            )
        return self.stages[name]


def build_llm_processor(
    config: ProcessorConfig, preprocess: Function = None, postprocess: Function = None
) -> Processor:
    """
    Build the processor of a configuration.

    `preprocess` returns columns to add to a row: what the first stage needs, and `sampling_params`
    for the engine. `postprocess` gets a row with all columns, and returns the row of the result.
    """
    if isinstance(config, HttpRequestProcessorConfig):
        return Processor(config, [_http(config)], preprocess, postprocess)
    if isinstance(config, vLLMEngineProcessorConfig):
        return Processor(config, _vllm(config), preprocess, postprocess)
    expected = "a HttpRequestProcessorConfig or a vLLMEngineProcessorConfig"
    raise ValueError(f"found {config!r}, expected {expected}")


def _http(config: HttpRequestProcessorConfig) -> Stage:
    """Return the stage that posts rows; its replicas together make `qps` requests a second."""
    # How long each replica waits between two requests; with 2 replicas, twice as long.
    seconds = config.concurrency / config.qps if config.qps else None
    arguments = {"url": config.url, "headers": config.headers, "seconds": seconds}
    options = {"concurrency": config.concurrency, **_LIGHT}
    return Stage(stages.HttpRequest, arguments, options)


def _vllm(config: vLLMEngineProcessorConfig) -> list[Stage]:
    """Return the stages of a processor with an engine, those that its options ask for."""
    if not ray.is_initialized():
        ray.init(runtime_env=config.runtime_env)
    engine_arguments = _engine_kwargs(config)
    trust = {"trust_remote_code": bool(engine_arguments.get("trust_remote_code"))}
    model = config.model_source
    tokenizer = {"model": engine_arguments.get("tokenizer") or model, **trust}
    # The template is the model's own, even if its tokenizer is another's.
    template = {"model": model, **trust, "chat_template": config.chat_template}
    # Ray starts each stage with 1 actor, and adds actors, up to `concurrency`, if rows pile up.
    options = {"concurrency": (1, config.concurrency), **_LIGHT}
    # A user may change the options of one stage, so each stage has dicts of its own.
    chosen: list[Stage] = []
    if config.has_image:
        chosen.append(Stage(stages.PrepareImage, {}, {**options}))
    if config.apply_chat_template:
        chosen.append(Stage(stages.ChatTemplate, template, {**options}))
    if config.tokenize:
        chosen.append(Stage(stages.Tokenize, {**tokenizer}, {**options}))
    chosen.append(_engine(config, engine_arguments))
    if config.detokenize:
        chosen.append(Stage(stages.Detokenize, {**tokenizer}, {**options}))
    return chosen


def _engine_kwargs(config: vLLMEngineProcessorConfig) -> dict[str, Any]:
    """Return the engine's arguments with Ray's defaults, without `model` and `task`.

    These two are fields of `config` itself; `engine_kwargs` may only repeat their values.

    Raises:
        ValueError: `engine_kwargs` has another value for one of them.
    """
    arguments = {
        "max_num_seqs": 128,
        "distributed_executor_backend": "mp",
        **config.engine_kwargs,
    }
    fields = {"model": config.model_source, "task": config.task_type}
    for name, expected in fields.items():
        value = arguments.pop(name, expected)
        if value != expected:
            raise ValueError(
                f"engine_kwargs: found {name}={value!r}, expected {expected!r} or none"
            )
    return arguments


def _engine(
    config: vLLMEngineProcessorConfig, engine_arguments: dict[str, Any]
) -> Stage:
    """Return the stage of the engine, with the resources that a replica needs."""
    tasks = config.max_concurrent_batches
    options: dict[str, Any] = {"concurrency": config.concurrency}
    # Ray sends an actor `_TASKS` tasks at a time. `compute`, which replaces `concurrency`, is the
    # only option for more, although Ray calls it deprecated.
    if tasks > _TASKS:
        pool = ActorPoolStrategy(
            size=config.concurrency, max_tasks_in_flight_per_actor=tasks
        )
        options = {"compute": pool}
    options["max_concurrency"] = tasks  # how many of them the actor runs at a time
    options.update(engine.placed(engine_arguments, config.accelerator_type))
    if config.runtime_env:
        options["runtime_env"] = config.runtime_env
    constructor_arguments = {
        "model": config.model_source,
        "engine_arguments": engine_arguments,
        "task": config.task_type,
        "pending": config.max_pending_requests,
    }
    return Stage(engine.VLLMEngine, constructor_arguments, options)

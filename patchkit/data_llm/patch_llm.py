"""
Upstream: `ray.data.llm` came with Ray 2.43; this is what Ray 2.44 documents of it, for Rays before.

Options of later Rays are refused by their names, as is what these Rays cannot do.
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
"""Of a stage beside the engine: with Ray's 1 CPU each, they would fill a small machine."""
_TASKS = 4
"""How many tasks Ray sends to an actor ahead, unless told."""


def can_serve() -> bool | str:
    """Whether this Ray lacks the module, and its datasets take what the stages ask for."""
    if (
        spec := PathFinder.find_spec("ray.data.llm", list(ray.data.__path__))
    ) is not None:
        return f"this Ray has ray.data.llm: {spec.origin}"
    known = inspect.signature(Dataset.map_batches).parameters
    lacks = {
        "concurrency",
        "fn_constructor_kwargs",
        "ray_remote_args_fn",
    } - known.keys()
    return (
        not lacks
        or f"Dataset.map_batches of this Ray has no {', '.join(sorted(lacks))}"
    )


class ProcessorConfig(BaseModel):
    """What every processor is told; None for any accelerator, `concurrency` replicas."""

    model_config = ConfigDict(
        extra="forbid", protected_namespaces=(), validate_assignment=True
    )

    batch_size: PositiveInt = 64
    accelerator_type: str | None = None
    concurrency: PositiveInt = 1


class HttpRequestProcessorConfig(ProcessorConfig):
    """Post each row's `payload`, `qps` a second or one after the other: `http_response`."""

    url: str
    headers: dict[str, Any] | None = None
    qps: PositiveInt | None = None


class vLLMEngineProcessorConfig(ProcessorConfig):  # noqa: N801 - Ray's name
    """Have vLLM answer each row's `messages`, or its `prompt`."""

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
    """One `Dataset.map_batches`; its arguments may be changed before the processor is called."""

    fn: type[RowStage]
    fn_constructor_kwargs: dict[str, Any]
    map_batches_kwargs: dict[str, Any]


class Processor:
    """Preprocess, stages, postprocess: called with a dataset, it returns the dataset to be."""

    DATA_COLUMN = DATA_COLUMN

    def __init__(
        self,
        config: ProcessorConfig,
        stages: list[Stage],
        preprocess: Function = None,
        postprocess: Function = None,
    ) -> None:
        def before(row: Row) -> Row:
            return {
                DATA_COLUMN: cloudpickle.dumps({**row, **(preprocess or dict)(row)})
            }

        def after(data: Row) -> Row:
            return (postprocess or dict)(cloudpickle.loads(data[DATA_COLUMN]))

        self.config, self.preprocess, self.postprocess = config, before, after
        self.stages = {stage.fn.title: stage for stage in stages}

    def __call__(self, dataset: Dataset) -> Dataset:
        """Add the processor's steps to a dataset; nothing runs before its rows are read."""
        dataset = dataset.map(self.preprocess)
        for stage in self.stages.values():
            told: dict[str, Any] = {
                "batch_size": self.config.batch_size,
                "batch_format": "numpy",
            }
            told["fn_constructor_kwargs"] = stage.fn_constructor_kwargs
            dataset = dataset.map_batches(
                stage.fn, **{**told, **stage.map_batches_kwargs}
            )
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
    for the engine. Every column is there until `postprocess`, whose columns are the result.
    """
    if isinstance(config, HttpRequestProcessorConfig):
        return Processor(config, [_http(config)], preprocess, postprocess)
    if isinstance(config, vLLMEngineProcessorConfig):
        return Processor(config, _vllm(config), preprocess, postprocess)
    expected = "a HttpRequestProcessorConfig or a vLLMEngineProcessorConfig"
    raise ValueError(f"found {config!r}, expected {expected}")


def _http(config: HttpRequestProcessorConfig) -> Stage:
    seconds = config.concurrency / config.qps if config.qps else None
    told = {"url": config.url, "headers": config.headers, "seconds": seconds}
    return Stage(
        stages.HttpRequest, told, {"concurrency": config.concurrency, **_LIGHT}
    )


def _vllm(config: vLLMEngineProcessorConfig) -> list[Stage]:
    if not ray.is_initialized():
        ray.init(runtime_env=config.runtime_env)
    given = _engine_kwargs(config)
    trust = {"trust_remote_code": bool(given.get("trust_remote_code"))}
    tokens = {"model": given.get("tokenizer") or config.model_source, **trust}
    chat = {
        "model": config.model_source,
        **trust,
        "chat_template": config.chat_template,
    }
    around = {"concurrency": (1, config.concurrency), **_LIGHT}
    wanted = [
        Stage(stages.PrepareImage, {}, {**around}) if config.has_image else None,
        Stage(stages.ChatTemplate, chat, {**around})
        if config.apply_chat_template
        else None,
        Stage(stages.Tokenize, {**tokens}, {**around}) if config.tokenize else None,
        _engine(config, given),
        Stage(stages.Detokenize, tokens, {**around}) if config.detokenize else None,
    ]
    return [stage for stage in wanted if stage]


def _engine_kwargs(config: vLLMEngineProcessorConfig) -> dict[str, Any]:
    """Return the engine's arguments with Ray's defaults; they may not contradict a field."""
    given = {
        "max_num_seqs": 128,
        "distributed_executor_backend": "mp",
        **config.engine_kwargs,
    }
    for name, said in (("model", config.model_source), ("task", config.task_type)):
        if (found := given.pop(name, said)) != said:
            raise ValueError(
                f"engine_kwargs: found {name}={found!r}, expected {said!r} or none"
            )
    return given


def _engine(
    config: vLLMEngineProcessorConfig, engine_arguments: dict[str, Any]
) -> Stage:
    tasks = config.max_concurrent_batches
    options: dict[str, Any] = {"concurrency": config.concurrency}
    if tasks > _TASKS:  # Ray calls `compute` deprecated, but has no other word for it
        pool = ActorPoolStrategy(
            size=config.concurrency, max_tasks_in_flight_per_actor=tasks
        )
        options = {"compute": pool}
    options["max_concurrency"] = tasks
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

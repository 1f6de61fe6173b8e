"""The configuration of `ray.serve.llm`, and the command line and Serve options made from it."""

from __future__ import annotations

import json
from collections import ChainMap
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import ray
import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from ray.serve.config import AutoscalingConfig
from ray.util.accelerators import accelerators

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Set from other fields, or by the replica that starts the engine.
OWN_SETTINGS = {
    *(
        "model",
        "model_tag",
        "served_model_name",
        "host",
        "port",
        "uds",
        "headless",
        "config",
    ),
    *(
        "ssl_keyfile",
        "ssl_certfile",
        "api_key",
        "root_path",
        "lora_modules",
        "api_server_count",
    ),
    "grpc",
}
# Of vLLM 0.10.1 to 0.33, what has no `--no-…`: off unless it is there.
SWITCHES = {
    *(
        "disable_log_stats",
        "aggregate_engine_logging",
        "data_parallel_multi_port_external_lb",
    ),
    *(
        "disable_async_output_proc",
        "disable_mm_preprocessor_cache",
        "enable_prompt_adapter",
    ),
    "enable_multimodal_encoder_data_parallel",
}
SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


class _Config(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class _Refused(_Config):
    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, _: object) -> object:
        raise ValueError(
            f"{cls.__name__}: this backport of ray.serve.llm cannot honour it"
        )


class CloudMirrorConfig(_Refused):
    """Where a cloud has a mirror of a model."""


class LoraConfig(_Refused):
    """How adapters are loaded from a cloud."""


class ModelLoadingConfig(_Config):
    """Which model, and under which name."""

    model_id: str
    model_source: str | CloudMirrorConfig | None = None
    tokenizer_source: str | None = None


class LLMConfig(_Config):
    """How to deploy one model."""

    runtime_env: dict[str, Any] | None = None
    model_loading_config: ModelLoadingConfig
    llm_engine: Literal["vLLM"] = "vLLM"
    engine_kwargs: dict[str, Any] = Field(default_factory=dict)
    accelerator_type: str | None = None
    lora_config: LoraConfig | None = None
    deployment_config: dict[str, Any] = Field(default_factory=dict)

    @field_validator("accelerator_type")
    @classmethod
    def _known_accelerator(cls, value: str | None) -> str | None:
        known = {text for name, text in vars(accelerators).items() if name.isupper()}
        full_name = "A10G" if value == "A10" else value
        return (
            None if full_name is None else _among("accelerator_type", full_name, known)
        )

    @field_validator("engine_kwargs")
    @classmethod
    def _free_settings(cls, value: dict[str, Any]) -> dict[str, Any]:
        if dashed := next((name for name in value if "-" in name), ""):
            raise ValueError(f"found {dashed!r}, expected {dashed.replace('-', '_')!r}")
        if taken := OWN_SETTINGS & value.keys():
            raise ValueError(
                f"found {', '.join(sorted(taken))}: set by other fields, or by a replica"
            )
        for backend in ("distributed_executor_backend", "data_parallel_backend"):
            if value.get(backend) == "ray":
                raise ValueError(f"{backend} 'ray': a replica's engine is on one node")
        return value

    @field_validator("deployment_config")
    @classmethod
    def _known_scaling(cls, value: dict[str, Any]) -> dict[str, Any]:
        known = set(AutoscalingConfig.__fields__)
        for field in dict(value.get("autoscaling_config") or {}):
            _among(f"autoscaling_config of Ray {ray.__version__}", field, known)
        return value

    @property
    def model_id(self) -> str:
        """The name that clients use."""
        return self.model_loading_config.model_id

    def get_serve_options(
        self, *, name_prefix: str = "LLMDeployment:"
    ) -> dict[str, Any]:
        """Options for `LLMServer.as_deployment`."""
        options = dict(self.deployment_config)
        if isinstance(options.get("num_replicas"), int):
            options["autoscaling_config"] = (
                None  # else the deployment's own default stays
            )
        actor = dict(options.get("ray_actor_options") or {})
        actor.setdefault(
            "num_gpus", prod(self.engine_kwargs.get(size, 1) for size in SIZES)
        )
        if self.accelerator_type:
            actor.setdefault("accelerator_type", self.accelerator_type)
        # A replica is started by Serve's controller, which does not know the environment of this
        # job. A setup hook counts in a job's environment only.
        job = dict(ray.get_runtime_context().runtime_env)
        job.pop("worker_process_setup_hook", None)
        nearest_first = [self.runtime_env or {}, actor.get("runtime_env") or {}, job]
        variables = ChainMap(*(one.get("env_vars") or {} for one in nearest_first))
        actor["runtime_env"] = {**ChainMap(*nearest_first), "env_vars": dict(variables)}
        name = name_prefix + self.model_id.replace("/", "--").replace(".", "_")
        return {**options, "ray_actor_options": actor, "name": name}

    def serve_arguments(self) -> list[str]:
        """The command line of `vllm serve`."""
        loading = self.model_loading_config
        settings = {
            "served_model_name": self.model_id,
            "tokenizer": loading.tokenizer_source,
        }
        return [
            str(loading.model_source or self.model_id),
            *_flags(settings | self.engine_kwargs),
        ]


class LLMServingArgs(_Config):
    """The models of one application; a text is the path of a YAML file, or YAML itself."""

    llm_configs: list[LLMConfig]

    @field_validator("llm_configs", mode="before")
    @classmethod
    def _read(cls, given: list[Any]) -> list[Any]:
        return [_from_yaml(one) if isinstance(one, str) else one for one in given]

    def parse_args(self) -> LLMServingArgs:
        """Return it: all files have been read."""
        return self


def _from_yaml(given: str) -> object:
    is_path = given.endswith((".yaml", ".yml", ".json"))
    return yaml.safe_load(Path(given).read_text() if is_path else given)


def _flags(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            yield flag
        elif value is False:
            if name not in SWITCHES:
                yield flag.replace("--", "--no-", 1)
        elif isinstance(value, (list, tuple)):
            yield from (flag, *map(str, value))
        elif value is not None:
            yield f"{flag}={json.dumps(value) if isinstance(value, dict) else value}"


def _among(where: str, found: str, known: set[str]) -> str:
    if found not in known:
        raise ValueError(
            f"{where}: found {found!r}, expected one of {', '.join(sorted(known))}"
        )
    return found

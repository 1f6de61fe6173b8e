"""SIMULATION of an NPU platform: what an NPU machine looks like to vLLM and Ray, computed on CPU.

Like a real one it makes `torch.device("npu")` the device of the configuration, which then travels
to every engine core and worker; unlike a real one it has the weights loaded on the CPU.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch
from vllm.platforms.cpu import CpuPlatform

if TYPE_CHECKING:
    from vllm.config import VllmConfig


class SimNPUPlatform(CpuPlatform):  # type: ignore[misc, unused-ignore]
    """A CPU that Ray counts as `NPU`, and whose configuration names the device `npu`."""

    device_name = "npu"
    ray_device_key = "NPU"
    device_control_env_var = "ASCEND_RT_VISIBLE_DEVICES"

    @classmethod
    def set_device(cls, device: torch.device) -> None:
        """Nothing: it is the CPU's. Before 0.10 the CPU's platform inherits CUDA's."""

    @classmethod
    def check_and_update_config(cls, vllm_config: VllmConfig) -> None:
        """The CPU's settings, then what an NPU machine has otherwise."""
        start_method = os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "fork")
        executor = vllm_config.parallel_config.distributed_executor_backend
        super().check_and_update_config(vllm_config)
        # The CPU platform forces spawn, and mp in place of uni; accelerators leave the choice to
        # the user.
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = start_method
        vllm_config.parallel_config.distributed_executor_backend = executor
        cls._name_the_device(vllm_config)

    @staticmethod
    def _name_the_device(vllm_config: VllmConfig) -> None:
        # Here, where the configuration is made, the backend is there, as on a real machine. A
        # process that receives the configuration is on its own.
        import torch_simnpu  # noqa: F401

        vllm_config.device_config.device = torch.device("npu")
        vllm_config.load_config.device = "cpu"

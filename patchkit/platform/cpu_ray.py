"""The row with which vLLM's own platform for CPUs runs on Ray; off unless asked for."""

from patchkit.core.rows.declaration import Edit, Patch, Replace, Role

ROW = Patch(
    name="cpu-platform-on-ray",
    body="patch_cpu",
    requires=("vllm>=0.24,<0.34", "ray>=2.35,<3"),
    roles=frozenset(Role),
    changes=(
        Replace("vllm.platforms.cpu:CpuPlatform.ray_device_key", by="RAY_DEVICE_KEY"),
        Edit(
            "vllm.v1.executor.ray_executor_v2:RayExecutorV2._get_actor_resource_kwargs",
            old='"resources": {device_key: num_devices}',
            new='"resources": {}',
        ),
        Edit(
            "vllm.v1.executor.ray_executor_v2:RayExecutorV2._init_executor",
            old="get_bundles_sorted_by_node(placement_group)",
            new="get_bundles_sorted_by_node(placement_group)[: self.world_size]",
        ),
        Edit(
            "vllm.v1.executor.ray_executor_v2:RayWorkerProc.get_node_and_physical_gpu_ids",
            old="ray.get_runtime_context().get_accelerator_ids()[device_key]",
            new='[self._init_kwargs["rank"]]',
        ),
        Edit(
            "vllm.v1.executor.ray_executor:RayDistributedExecutor._init_workers_ray",
            old="resources={current_platform.ray_device_key: num_gpus}",
            new="resources={}",
            requires=("vllm<0.33",),
        ),
        Edit(
            "vllm.v1.executor.ray_utils:RayWorkerWrapper.get_node_and_physical_gpu_ids",
            old="ray.get_runtime_context().get_accelerator_ids()[device_key]",
            new="[self.rpc_rank]",
            requires=("vllm<0.33",),
        ),
        Edit(
            "vllm.distributed.device_communicators.cpu_communicator"
            ":CpuCommunicator._all_group_ranks_share_shm_group_name",
            old="_CPUSHMDistributed.make_group_name(self)",
            new="_CPUSHMDistributed.make_group_name(self) + os.uname().nodename",
        ),
    ),
    env="PATCHKIT_CPU_RAY=1",
    when="is_stock_cpu",
    why=(
        "vLLM refuses Ray on a CPU: 'current platform cpu does not support ray'. With 'CPU' for a "
        "device key, Ray takes no 'CPU' among an actor's resources, numbers no CPUs, and counts "
        "bundles that are for others; and ranks on two nodes take a common port for a sign that "
        "they share memory. Each of these stops or hangs an executor."
    ),
    upstream="none: vLLM runs several workers on a CPU with its multiprocessing executor",
    sunset="vLLM's CPU platform has a Ray device key of its own",
)

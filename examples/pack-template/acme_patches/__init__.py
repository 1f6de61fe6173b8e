"""Patches of vLLM that tell what is slow: one for each kind of process."""

from patchkit import Patch, Role, Wrap

REQUIRES = ("vllm>=0.30,<0.34",)
UPSTREAM = "none: where the limit lies is a matter of taste"
SUNSET = "vLLM says by itself what is slow"

PATCHES = (
    Patch(
        name="log-slow-outputs",
        body="patch_timing",
        requires=REQUIRES,
        roles={Role.MAIN},
        changes=(
            Wrap(
                "vllm.v1.engine.output_processor:OutputProcessor.process_outputs",
                by="timed",
            ),
        ),
        why="Slow detokenizing delays every stream, and nothing says so.",
        upstream=UPSTREAM,
        sunset=SUNSET,
    ),
    Patch(
        name="log-slow-scheduling",
        body="patch_timing",
        requires=REQUIRES,
        roles={Role.ENGINE_CORE},
        changes=(Wrap("vllm.v1.core.sched.scheduler:Scheduler.schedule", by="timed"),),
        why="While a step is scheduled, no device computes.",
        upstream=UPSTREAM,
        sunset=SUNSET,
    ),
    Patch(
        name="log-slow-steps",
        body="patch_timing",
        requires=REQUIRES,
        roles={Role.WORKER},
        changes=(
            Wrap(
                "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model",
                by="timed",
            ),
        ),
        why="One slow rank makes all others wait.",
        upstream=UPSTREAM,
        sunset=SUNSET,
    ),
)

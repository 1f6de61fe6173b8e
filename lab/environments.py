#!/usr/bin/env python3
"""Make and cache the environments that tests and demonstrations run in.

`python lab/environments.py NAME` prints the path of the environment's Python, after making it
under `.envs/` where it is missing, half built or out of date. It needs nothing but a Python 3.10
or newer; uv comes from the package index into an environment of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
from builds import BuildError, lane_file
from recipes import RECIPES, REPOSITORY, Layer, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ENVIRONMENTS = REPOSITORY / ".envs"

# Of these only builds for CUDA are to be had, and vLLM on a CPU does without them.
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
CPU_BACKEND = ("--torch-backend", "cpu")
TOOLS = ("uv>=0.7", "unearth>=0.17")


class EnvironmentsError(Exception):
    """An environment could not be made; the message says at which step."""


def say(text: str) -> None:
    """One progress line; standard output belongs to the result."""
    print(f"environments: {text}", file=sys.stderr, flush=True)


def ensure(name: str) -> Path:
    """Return the Python of an environment that is complete and up to date.

    Raises:
        EnvironmentsError: there is no such recipe, or a step failed.
    """
    if name not in RECIPES:
        raise EnvironmentsError(f"found {name!r}, expected one of {', '.join(RECIPES)}")
    ENVIRONMENTS.mkdir(exist_ok=True)
    for gone in ENVIRONMENTS.glob("*.gone"):  # of a removal that was interrupted
        shutil.rmtree(gone, ignore_errors=True)
    with locked(ENVIRONMENTS / name):
        build(name, RECIPES[name])
    return python_of(ENVIRONMENTS / name)


def variables(name: str) -> dict[str, str]:
    """Return what every process that runs in an environment needs in its own environment."""
    return lane_file.read(ENVIRONMENTS / name)


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
        layer = recipe.layers[index]
        if layer.arguments:
            install(place, layer, own_cache=recipe.own_cache)
        run_build(place, layer)
    write_stamp(place, digests)
    shutil.rmtree(cache_of(place), ignore_errors=True)


def digest(recipe: Recipe, index: int) -> str:
    """What a layer depends on, the checkout's own place included: installs are editable."""
    layer = recipe.layers[index]
    builds = Path(inspect.getfile(layer.build)).parent.glob("*.py") if layer.build else ()
    files = (*layer.watched, *sorted(builds))
    watched = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
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
    return sys.executable if version == running_version() else pyenv_python(version) or version


def pyenv_python(version: str) -> str | None:
    """Pyenv's interpreter of a version; its shims, which uv finds, run the chosen version alone."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    return str(found[-1]) if found else None


def create(place: Path, recipe: Recipe) -> None:
    """An empty virtual environment, in place of whatever is there."""
    discard(place)
    request = python_request(recipe)
    step(f"{place.name}: Python {request}", uv("venv", "--python", request, str(place)))


def install(place: Path, layer: Layer, *, own_cache: bool = False) -> None:
    """Run one layer's install."""
    arguments = ["pip", "install", "--python", str(python_of(place)), *index_options()]
    if own_cache:
        arguments += ["--cache-dir", str(cache_of(place))]
    if layer.torch:
        torch, *options = torch_choice(place, layer.torch)
        overrides = place / "overrides.txt"
        overrides.write_text("\n".join(override_lines(torch, layer)) + "\n")
        arguments += ["--override", str(overrides), *options]
    step(f"{place.name}: installing {layer.title}", uv(*arguments, *layer.arguments))


def run_build(place: Path, layer: Layer) -> None:
    """Run one layer's build, if it has one.

    Raises:
        EnvironmentsError: it failed.
    """
    if layer.build is None:
        return
    title = f"{place.name}: building {layer.title}"
    say(f"{title} …")
    began = time.monotonic()
    try:
        layer.build(place)
    except BuildError as error:
        raise EnvironmentsError(f"{title}: {error}") from error
    say(f"{title}: {time.monotonic() - began:.0f} s")


def cache_of(place: Path) -> Path:
    """Where an environment's packages are cached apart from all others."""
    return place.with_name(f"{place.name}.cache")


def remove(name: str) -> None:
    """Delete an environment, and what a build that was stopped left of it."""
    place = ENVIRONMENTS / name
    with locked(place):
        discard(place)
        shutil.rmtree(cache_of(place), ignore_errors=True)


def discard(place: Path) -> None:
    """Delete a folder, which is gone under its name at once: no stamp vouches for half of it."""
    gone = place.with_name(f"{place.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)
    if place.exists():
        place.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def override_lines(torch: str, layer: Layer) -> list[str]:
    """Hold torch to one requirement; drop what has no build for CPUs."""
    never = [f"{name}; sys_platform == 'never'" for name in UNWANTED]
    return [torch, *never, *layer.overrides]


def torch_choice(place: Path, version: str) -> list[str]:
    """Choose where torch comes from: a requirement, then options of the install.

    A build for CPUs at pip's find-links comes first, then uv's own choice of one. What the index
    has under the version is the last resort, as it may be a build for CUDA.
    """
    cpu = f"torch=={version}+cpu"
    plain = f"torch=={version}"
    if can_install(place, cpu):
        return [cpu]
    if can_install(place, *CPU_BACKEND, plain):
        return [plain, *CPU_BACKEND]
    say(f"no build of torch {version} for CPUs is to be had; the index's may take gigabytes")
    return [plain]


def can_install(place: Path, *arguments: str) -> bool:
    """Whether uv finds a package."""
    probe = ["pip", "install", "--dry-run", "--no-deps", "--python", str(python_of(place))]
    command = uv(*probe, *index_options(), *arguments)
    # A machine without the network should not wait for it four times.
    env = {**os.environ, "UV_HTTP_RETRIES": "0"}
    return subprocess.run(command, capture_output=True, env=env, check=False).returncode == 0


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
    """Run one long command behind one progress line; return what it wrote.

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
    """Make the environments named; print the path of each one's Python; or delete them."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help=", ".join(RECIPES))
    parser.add_argument("--remove", action="store_true", help="delete them")
    arguments = parser.parse_args(argv)
    try:
        for name in arguments.names:
            if arguments.remove:
                remove(name)
            else:
                print(ensure(name))
    except EnvironmentsError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

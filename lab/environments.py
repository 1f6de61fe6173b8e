#!/usr/bin/env python3
"""Make and cache the environments that tests and demonstrations run in.

`python lab/environments.py NAME` prints the path of the environment's Python, after making it
under `.envs/` where it is missing, half built or out of date. It needs nothing but a Python 3.10
or newer; uv comes from the package index into an environment of its own.
"""

from __future__ import annotations

import argparse
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

import folders
from builds import BuildError, lane_file
from folders import REPOSITORY, locked, python_of
from recipes import RECIPES, Layer, Recipe
from stamps import agreeing, read_stamp, write_stamp
from steps import EnvironmentsError, say, step
from toolbox import index_options, uv

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of these only builds for CUDA are to be had, and vLLM on a CPU does without them.
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
CPU_BACKEND = ("--torch-backend", "cpu")


def ensure(name: str) -> Path:
    """Return the Python of an environment that is complete and up to date.

    Raises:
        EnvironmentsError: there is no such recipe, or a step failed.
    """
    if name not in RECIPES:
        raise EnvironmentsError(f"found {name!r}, expected one of {', '.join(RECIPES)}")
    folders.ENVIRONMENTS.mkdir(exist_ok=True)
    # Of a removal that was interrupted.
    for gone in folders.ENVIRONMENTS.glob("*.gone"):
        shutil.rmtree(gone, ignore_errors=True)
    with locked(folders.ENVIRONMENTS / name):
        build(name, RECIPES[name])
    return python_of(folders.ENVIRONMENTS / name)


def variables(name: str) -> dict[str, str]:
    """Return what every process that runs in an environment needs in its own environment."""
    return lane_file.read(folders.ENVIRONMENTS / name)


def build(name: str, recipe: Recipe) -> None:
    """Install the layers that the stamp does not vouch for."""
    place = folders.ENVIRONMENTS / name
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
    builds = (
        Path(inspect.getfile(layer.build)).parent.glob("*.py") if layer.build else ()
    )
    files = (*layer.watched, *sorted(builds))
    watched = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    parts = [str(REPOSITORY), python_version(recipe), layer.arguments, layer.torch]
    text = json.dumps([*parts, layer.overrides, watched])
    return hashlib.sha256(text.encode()).hexdigest()


def python_version(recipe: Recipe) -> str:
    """The version of an environment's Python."""
    return recipe.python or running_version()


def running_version() -> str:
    """The version of the Python that runs this file."""
    return "{}.{}".format(*sys.version_info[:2])


def python_request(recipe: Recipe) -> str:
    """What to ask uv for: this interpreter where it will do, else a version to find or fetch."""
    version = python_version(recipe)
    return (
        sys.executable
        if version == running_version()
        else pyenv_python(version) or version
    )


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
    place = folders.ENVIRONMENTS / name
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
    say(
        f"no build of torch {version} for CPUs is to be had; the index's may take gigabytes"
    )
    return [plain]


def can_install(place: Path, *arguments: str) -> bool:
    """Whether uv finds a package."""
    probe = [
        "pip",
        "install",
        "--dry-run",
        "--no-deps",
        "--python",
        str(python_of(place)),
    ]
    command = uv(*probe, *index_options(), *arguments)
    # A machine without the network should not wait for it four times.
    env = {**os.environ, "UV_HTTP_RETRIES": "0"}
    return (
        subprocess.run(command, capture_output=True, env=env, check=False).returncode
        == 0
    )


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

"""Release 0.7.3 of vLLM, whose operators for CPUs are compiled here: nobody has released them.

Its own build asks for the toolkit of CUDA, or for sources from the network; a compiler is enough
for the operators that a model in float32 needs. NUMA's header is not, nor oneDNN, which only
quantised models use.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import sources

from builds import BuildError, distribution, lane_file, packages_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RELEASE = "0.7.3"
FILES = (
    *(
        "activation",
        "attention",
        "cache",
        "layernorm",
        "pos_encoding",
        "torch_bindings",
    ),
    "utils",
)
OPTIONS = (
    *("-O2", "-fPIC", "-std=c++17", "-fopenmp", "-mavx2", "-mfma", "-mf16c", "-w"),
    *("-DVLLM_CPU_EXTENSION", "-DVLLM_NUMA_DISABLED", "-DPy_LIMITED_API=3"),
    "-DTORCH_EXTENSION_NAME=_C",
)
# Asked of the environment's own Python: the folders of headers, of libraries, and which of two
# incompatible strings torch was built with.
TORCH = """
import json, sysconfig, torch
from torch.utils import cpp_extension
headers = [*cpp_extension.include_paths(), sysconfig.get_path("include")]
print(json.dumps([headers, cpp_extension.library_paths(), int(torch.compiled_with_cxx11_abi())]))
"""


def build(place: Path) -> None:
    """Install the release's Python, compile its operators, give it its name."""
    package = packages_of(place) / "vllm"
    shutil.rmtree(package, ignore_errors=True)
    without = shutil.ignore_patterns("__pycache__")  # others may import it meanwhile
    shutil.copytree(sources.old_vllm(RELEASE) / "vllm", package, ignore=without)
    compile_operators(
        place, sources.native_vllm(RELEASE) / "csrc", package / "_C.abi3.so"
    )
    distribution.name_vllm(place, RELEASE)
    lane_file.write(place, VLLM_CPU_OMP_THREADS_BIND=lane_file.UNBOUND)


def compile_operators(place: Path, source: Path, library: Path) -> None:
    """Compile two files at a time, then link."""
    objects = place / "operators"
    objects.mkdir(exist_ok=True)
    asked = run([str(place / "bin" / "python"), "-c", TORCH])
    headers, libraries, abi = json.loads(asked.splitlines()[-1])
    options = [*OPTIONS, f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-I{source}"]
    options += [part for folder in headers for part in ("-isystem", folder)]
    commands = [
        [
            "g++",
            *options,
            "-c",
            str(source / "cpu" / f"{name}.cpp"),
            "-o",
            f"{objects}/{name}.o",
        ]
        for name in FILES
    ]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, commands))
    link(objects, [str(folder) for folder in libraries], library)


def link(objects: Path, libraries: Sequence[str], library: Path) -> None:
    """Make one shared object; torch, which is loaded first, brings its libraries."""
    parts = [f"-L{folder}" for folder in libraries]
    parts += [str(objects / f"{name}.o") for name in FILES]
    parts += ["-ltorch", "-ltorch_cpu", "-lc10"]
    run(["g++", "-shared", "-fopenmp", *parts, "-o", str(library)])
    shutil.rmtree(objects)


def run(command: Sequence[str]) -> str:
    """Run a command; return what it wrote on standard output.

    Raises:
        BuildError: there is no such program, or it failed.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise BuildError(
            f"found no {command[0]}, expected one: install a C++ compiler"
        ) from error
    if done.returncode:
        tail = "\n".join(done.stderr.splitlines()[-20:])
        raise BuildError(f"{command[0]}: exit {done.returncode}\n{tail}")
    return done.stdout

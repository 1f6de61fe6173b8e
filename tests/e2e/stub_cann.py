"""Stub libraries in place of CANN, so that the real torch_npu can be imported without an NPU.

What is missing is read from the wheel's own ELF files: the libraries that they need and nobody
here has, and the symbols that no library here defines. Every stub returns 0.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")
# Number, value, size, type, binding, visibility, section, name: `readelf --dyn-syms --wide`.
SYMBOL = re.compile(
    r"^\s*\d+:\s+\S+\s+\S+\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+(\S+)", re.MULTILINE
)


def build(backend: Path, torch: Path, directory: Path) -> list[str]:
    """Write the stubs into a directory; return the names of the functions in them.

    Args:
        backend: the package torch_npu, unpacked.
        torch: the package torch, installed.
        directory: where the libraries go.
    """
    ours = [*backend.glob("*.so"), *backend.glob("lib/*.so")]
    needed = {
        name for path in ours for name in NEEDED.findall(readelf("--dynamic", path))
    }
    system = {name: path for name, path in system_libraries().items() if name in needed}
    theirs = [*torch.glob("lib/*.so*"), *system.values()]
    functions = missing_functions(ours, theirs)
    source = directory / "stub.c"
    source.write_text(
        "".join(f"long {name}(void) {{ return 0; }}\n" for name in functions)
    )
    for name in sorted(needed - {path.name for path in ours + theirs}):
        compile_stub(source, directory / name)
    return functions


def system_libraries() -> dict[str, Path]:
    """What the loader finds by itself, by name."""
    entries = [line.split(" => ") for line in run("/sbin/ldconfig", "-p").splitlines()]
    return {entry[0].split()[0]: Path(entry[1]) for entry in entries if len(entry) == 2}


def missing_functions(ours: Iterable[Path], theirs: Iterable[Path]) -> list[str]:
    """C functions that ours call, and that neither ours nor theirs define."""
    called: set[str] = set()
    defined: set[str] = set()
    for path in [*ours, *theirs]:
        for _, binding, section, name in SYMBOL.findall(readelf("--dyn-syms", path)):
            if section != "UND":
                defined.add(name.partition("@")[0])
            # A version names the library that has it; a C++ name is no function of CANN's.
            elif (
                binding == "GLOBAL"
                and path in ours
                and "@" not in name
                and name[:2] != "_Z"
            ):
                called.add(name)
    return sorted(name for name in called - defined if not name.startswith("Py"))


def readelf(what: str, path: Path) -> str:
    """One table of an ELF file."""
    return run("readelf", "--wide", what, str(path))


def compile_stub(source: Path, library: Path) -> None:
    """One shared library; all of them hold everything, the loader takes the first."""
    name = f"-Wl,-soname,{library.name}"
    run("gcc", "-shared", "-fPIC", "-w", "-o", str(library), name, str(source))


def run(*command: str) -> str:
    """What a command prints; its failure is an error with what it said."""
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False
    )
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr.strip()}")
    return result.stdout

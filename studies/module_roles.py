#!/usr/bin/env python3
"""Find out in which roles the modules of an engine run, by real engines on the CPU.

`python studies/module_roles.py` starts `vllm serve` and an offline engine with two workers, in the
environment `vllm-0.32.0-python-3.12`. With the argument `sglang`, it starts a server and an engine
of SGLang, in `sglang-0.5.23`. It writes the table from which `patchkit new` proposes roles of
targets that nobody has probed. A module is listed with the roles of the processes in which a
function of it was called; those of which none was called are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "examples" / "conformance"))

from patchkit_lab import cluster, processes, scenario, served  # noqa: E402

from patchkit.analysis.status import read_directory  # noqa: E402
from patchkit.core.rows.declaration import Role  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = REPOSITORY / "patchkit" / "analysis" / "check"
WITNESS = REPOSITORY / "studies" / "role_witness"
VLLM = "0.32.0"
REQUESTS = (
    {"prompt": "hello world", "max_tokens": 8},
    {"prompt": ["hello", "world the quick"], "max_tokens": 4, "n": 2, "logprobs": 2},
    {"prompt": "hello", "max_tokens": 8, "temperature": 0.7, "top_p": 0.9, "seed": 1},
)
SECONDS = 1800


def vllm_commands(python: Path, folder: Path) -> list[list[str]]:
    """Return the words after `patchkit` that run vLLM."""
    model = scenario.make_model(python, folder)
    served.describe(folder, f"{VLLM}+cpu")
    requests = folder / "requests.jsonl"
    requests.write_text("".join(f"{json.dumps(one)}\n" for one in REQUESTS))
    port = str(cluster.free_ports(1)[0])
    two = ["--distributed-executor-backend", "mp", "--tensor-parallel-size", "2"]
    serve = [*served.command_line(python, model, *two), "--port", port]
    generate = [str(python), str(scenario.HERE / "generate.py"), str(model)]
    generate += ["--executor", "mp", "--tensor-parallel", "2"]
    probe = ["probe", "vllm.v1.core.sched.scheduler:Scheduler.schedule"]
    return [
        [*probe, "--requests", str(requests), "--", *serve],
        [*probe, "--", *generate],
    ]


def sglang_commands(python: Path, folder: Path) -> list[list[str]]:
    """Return the words after `patchkit` that run SGLang."""
    model = scenario.make_model(python, folder)
    program = str(WITNESS / "sglang_requests.py")
    return [
        ["run", "--", str(python), program, way, str(model)]
        for way in ("server", "engine")
    ]


class Engine(NamedTuple):
    """An engine whose modules are observed.

    Args:
        release: What runs, in words.
        environment: The environment that it runs in.
        how: How it is run, in words.
        commands: Makes the commands, in a folder of the run.
    """

    release: str
    environment: str
    how: str
    commands: Callable[[Path, Path], list[list[str]]]


ENGINES = {
    "vllm": Engine(
        f"vLLM {VLLM}",
        f"vllm-{VLLM}-python-3.12",
        "vllm serve and LLM.generate, CPU, tensor parallel 2, multiprocessing; called functions",
        vllm_commands,
    ),
    "sglang": Engine(
        "SGLang 0.5.23",
        "sglang-0.5.23",
        "sglang.launch_server and sglang.Engine, CPU, one scheduler; called functions",
        sglang_commands,
    ),
}


def main(package: str = "vllm") -> int:
    """Run the engines, and write the table."""
    engine = ENGINES[package]
    python = REPOSITORY / ".envs" / engine.environment / "bin" / "python"
    if not python.exists():
        print(
            f"first: python lab/environments.py {engine.environment}", file=sys.stderr
        )
        return 2
    with tempfile.TemporaryDirectory() as folder:
        roles = observe(python, Path(folder), package)
    table = {
        "release": engine.release,
        "made": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "how": engine.how,
        "modules": {
            module: [str(role) for role in Role if str(role) in roles[module]]
            for module in sorted(roles)
        },
    }
    file = TABLES / f"{package}_roles.json"
    file.write_text(f"{json.dumps(table, indent=1)}\n")
    print(f"{len(roles)} modules in {file}")
    return 0


def observe(python: Path, folder: Path, package: str) -> dict[str, set[str]]:
    """Return the roles in which modules have run, by module."""
    roles: dict[str, set[str]] = {}
    commands = ENGINES[package].commands(python, folder)
    for number, words in enumerate(commands):
        place = folder / str(number)
        place.mkdir()
        environ = processes.environment(
            scenario.CPU,
            {
                "PYTHONPATH": f"{WITNESS}:{folder}:{scenario.HERE.parent}",
                "PATCHKIT_JOURNAL": str(place / "journal"),
                "ROLE_WITNESS": str(place / "witness"),
                "ROLE_WITNESS_PACKAGE": package,
            },
        )
        command = [str(python), "-m", "patchkit", *words]
        subprocess.run(command, env=environ, check=True, timeout=SECONDS)
        for module, found in roles_in(place, package).items():
            roles.setdefault(module, set()).update(found)
    return roles


def roles_in(place: Path, package: str) -> dict[str, set[str]]:
    """Return the roles of the processes that ran functions of each module."""
    by_pid = {
        process.pid: process.roles for process in read_directory(place / "journal")
    }
    roles: dict[str, set[str]] = {}
    for line in (place / "witness").read_text().splitlines():
        pid, _, module = line.partition(" ")
        is_of_engine = module.partition(".")[0] == package
        if is_of_engine:
            roles.setdefault(module, set()).update(by_pid.get(int(pid), ()))
    return {module: found for module, found in roles.items() if found}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

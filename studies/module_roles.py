#!/usr/bin/env python3
"""Find out in which roles the modules of vLLM run, by real engines with two workers.

`python studies/module_roles.py` starts `vllm serve` and an offline engine on the CPU, in the
environment `vllm-0.32.0-python-3.12`, and writes the table from which `patchkit new` proposes roles
of targets that nobody has probed. A module is listed with the roles of the processes in which a
function of it was called; those of which none was called are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "examples" / "conformance"))

from patchkit_lab import cluster, processes, scenario, served  # noqa: E402

from patchkit.analysis.status import read_directory  # noqa: E402
from patchkit.core.rows.declaration import Role  # noqa: E402

RELEASE = "0.32.0"
TABLE = REPOSITORY / "patchkit" / "analysis" / "check" / "vllm_roles.json"
WITNESS = REPOSITORY / "studies" / "role_witness"
HOW = "vllm serve and LLM.generate, CPU, tensor parallel 2, multiprocessing; called functions"
REQUESTS = (
    {"prompt": "hello world", "max_tokens": 8},
    {"prompt": ["hello", "world the quick"], "max_tokens": 4, "n": 2, "logprobs": 2},
    {"prompt": "hello", "max_tokens": 8, "temperature": 0.7, "top_p": 0.9, "seed": 1},
)
SECONDS = 600


def main() -> int:
    """Run the engines, and write the table."""
    name = f"vllm-{RELEASE}-python-3.12"
    python = REPOSITORY / ".envs" / name / "bin" / "python"
    if not python.exists():
        print(f"first: python lab/environments.py {name}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        roles = observe(python, Path(folder))
    table = {
        "release": f"vLLM {RELEASE}",
        "made": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "how": HOW,
        "modules": {
            module: [str(role) for role in Role if str(role) in roles[module]]
            for module in sorted(roles)
        },
    }
    TABLE.write_text(f"{json.dumps(table, indent=1)}\n")
    print(f"{len(roles)} modules in {TABLE}")
    return 0


def observe(python: Path, folder: Path) -> dict[str, set[str]]:
    """Return the roles in which modules have run, by module."""
    model = scenario.make_model(python, folder)
    served.describe(folder, f"{RELEASE}+cpu")
    requests = folder / "requests.jsonl"
    requests.write_text("".join(f"{json.dumps(one)}\n" for one in REQUESTS))
    port = str(cluster.free_ports(1)[0])
    two = ["--distributed-executor-backend", "mp", "--tensor-parallel-size", "2"]
    serve = [*served.command_line(python, model, *two), "--port", port]
    generate = [str(python), str(scenario.HERE / "generate.py"), str(model)]
    generate += ["--executor", "mp", "--tensor-parallel", "2"]
    roles: dict[str, set[str]] = {}
    for number, (options, command) in enumerate(
        ((["--requests", str(requests)], serve), ([], generate))
    ):
        place = folder / str(number)
        place.mkdir()
        probe(python, place, folder, [*options, "--", *command])
        for module, found in roles_in(place).items():
            roles.setdefault(module, set()).update(found)
    return roles


def probe(python: Path, place: Path, folder: Path, words: list[str]) -> None:
    """Run a command under `patchkit probe`, with the witness in each process."""
    environ = processes.environment(
        scenario.CPU,
        {
            "PYTHONPATH": f"{WITNESS}:{folder}:{scenario.HERE.parent}",
            "PATCHKIT_JOURNAL": str(place / "journal"),
            "ROLE_WITNESS": str(place / "witness"),
        },
    )
    target = "vllm.v1.core.sched.scheduler:Scheduler.schedule"
    command = [str(python), "-m", "patchkit", "probe", target, *words]
    subprocess.run(command, env=environ, check=True, timeout=SECONDS)


def roles_in(place: Path) -> dict[str, set[str]]:
    """Return the roles of the processes that ran functions of each module."""
    by_pid = {
        process.pid: process.roles for process in read_directory(place / "journal")
    }
    roles: dict[str, set[str]] = {}
    for line in (place / "witness").read_text().splitlines():
        pid, _, module = line.partition(" ")
        is_of_vllm = module.partition(".")[0] == "vllm"
        if is_of_vllm:
            roles.setdefault(module, set()).update(by_pid.get(int(pid), ()))
    return {module: found for module, found in roles.items() if found}


if __name__ == "__main__":
    sys.exit(main())

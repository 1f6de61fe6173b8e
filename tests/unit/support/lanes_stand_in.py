"""`make matrix` in a folder, with environments and conformance checks that only pretend.

`python lanes_stand_in.py FOLDER ARGUMENT…` is the driver; the environments' Python is a script that
calls this file with `answer`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPT = """#!/bin/sh
if [ "$2" = -c ]; then echo '{packages}'; exit; fi
echo {name} >> {folder}/ran
exec {python} {file} answer {folder} {name} "$@"
"""
DAEMON = """
import os, sys, time
os.setsid()
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(1000)
"""


def drive(folder: Path, *arguments: str) -> int:
    """Run the driver; PYTHONPATH names the lab and the folder."""
    import lanes
    import matrix
    import recipes
    import steps

    from patchkit.registry import read_pack

    def ensure(name: str) -> Path:
        if name == "unmade":
            raise steps.EnvironmentsError("no such wheel")
        if name == "full":
            raise OSError("no space left")
        return _environment(folder, name)

    recipe = recipes.Recipe(())
    recipes.RECIPES.update(dict.fromkeys(("a", "b", "c", "unmade", "full"), recipe))
    lanes.REPOSITORY = folder
    shop = matrix.Workshop(
        read_pack("pack"),
        results=folder / "results",
        marks=folder / "results" / "made",
        docs=folder,
        ensure=ensure,
        remove=lambda name: shutil.rmtree(
            folder / "environments" / name, ignore_errors=True
        ),
        place=(folder / "environments").joinpath,
        variables=lambda name: {"PRELOAD": f"/{name}/lib.so"},
        limit=float(os.environ["LIMIT"]),
    )
    return matrix.main(arguments, shop, folder / "lanes.toml")


def _environment(folder: Path, name: str) -> Path:
    python = folder / "environments" / name / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    vllm = {"a": "0.31.0", "b": "0.32.0", "c": "0.33.0"}[name]
    packages = json.dumps({"vllm": f"{vllm}+cpu", "ray": "2.60.0", "python": "3.11.7"})
    values = {"packages": packages, "name": name, "folder": folder}
    python.write_text(SCRIPT.format(**values, python=sys.executable, file=__file__))
    python.chmod(0o755)
    return python


def answer(folder: Path, name: str, *arguments: str) -> int:
    """Be a lane's Python: do what `story.json` says of the environment; else let all pass."""
    story = json.loads((folder / "story.json").read_text())
    report_file = Path(arguments[4])
    checks = arguments[6].split(",")
    print("check", end="", flush=True)
    print(f"ing {name}", flush=True)
    if name in story.get("hang", ()):
        (folder / "hanging").write_text(str(os.getpid()))
        _begin_daemon(folder)
        sys.stdin.close()
        subprocess.run(["sleep", "1000"], check=False)
    if name in story.get("orphan", ()):
        place = Path(f"/proc/{_begin_orphan()}")
        while place.exists():  # until the lane's time is over
            pass
    if name in story.get("crash", ()):
        return 3
    failed = story.get("failed", {}).get(name, {})
    not_run = story.get("not run", {}).get(name, {})
    results = []
    (folder / "preload").write_text(os.environ["PRELOAD"])
    for check in checks:
        outcome = "passed"
        if check in failed:
            outcome = "failed"
        elif check in not_run:
            outcome = "not run"
        detail = {**failed, **not_run}.get(check, "")
        rows = story.get("rows", {}).get(name, []) if check == "apply" else []
        result = {
            "check": check,
            "result": outcome,
            "seconds": 1,
            "detail": detail,
            "rows": rows,
        }
        results.append(result)
    simulation = [{"row": "sim-ray", "why": "no NPU"}]
    report = {"simulated": True, "simulation": simulation, "results": results}
    report_file.write_text(json.dumps(report))
    return 1 if failed else 0


def _begin_orphan() -> int:
    """Return the pid of a process that ends soon, and whose parent is gone."""
    child = (
        "subprocess.Popen([sys.executable, '-c', 'pass'], stdout=subprocess.DEVNULL)"
    )
    command = [sys.executable, "-c", f"import subprocess, sys; print({child}.pid)"]
    return int(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )


def _begin_daemon(folder: Path) -> None:
    """Leave a process in a session of its own, whose parent is gone, as Ray does."""
    file = folder / "daemon"
    child = f"[sys.executable, '-c', {DAEMON!r}, {str(file)!r}]"
    parent = f"import subprocess, sys; subprocess.Popen({child})"
    subprocess.run([sys.executable, "-c", parent], check=True)


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    if first == "answer":
        sys.exit(answer(Path(rest[0]), *rest[1:]))
    sys.exit(drive(Path(first), *rest))

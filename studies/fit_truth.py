#!/usr/bin/env python3
"""Compare what `patchkit fit` says is gone with what Python finds: real imports in an environment.

`python studies/fit_truth.py ENVIRONMENT vllm==0.32.0 WHEEL…` asks about the vLLM that the
environment has. Names in modules that do not import on this machine are counted as unknown. It
ends with 1 if a name is said to be gone and is there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

GONE = {"PK601", "PK602", "PK605"}
ASK = """
import importlib, json, sys

def found(name):
    module, _, qualname = name.partition(":")
    try:
        value = importlib.import_module(module)
    except ModuleNotFoundError as error:
        return "gone" if module.startswith(error.name or "?") else "unknown"
    except BaseException:
        return "unknown"
    for step in qualname.split(".") if qualname else ():
        try:
            value = getattr(value, step)
        except AttributeError:
            inner = f"{getattr(value, '__name__', '?')}.{step}"
            try:  # a submodule that nothing has imported yet
                value = importlib.import_module(inner)
            except ModuleNotFoundError as error:
                return "gone" if inner == error.name or "not a package" in str(error) else "unknown"
            except BaseException:
                return "unknown"
        except BaseException:
            return "unknown"
    return "there"

with open(sys.argv[1], "a", buffering=1) as out:
    for name in json.load(sys.stdin):
        print(name, end=" ", file=out, flush=True)  # an import may end the process
        print(found(name), file=out)
"""


def claims(wheel: str, release: str) -> dict[str, bool]:
    """The names that a package uses, and whether each is said to be gone."""
    words = ["patchkit", "fit", wheel, "--releases", release, "--format", "json"]
    done = subprocess.run(  # it ends with 1 where something is gone
        [sys.executable, "-m", *words], capture_output=True, text=True, check=False
    )
    told = json.loads(done.stdout)
    gone = {
        one["name"] for one in told["releases"][0]["findings"] if one["code"] in GONE
    }
    names = {one["name"] for one in told["uses"] if one["how"] != "override"}
    return {name: name in gone for name in names}


def answers(python: Path, names: list[str]) -> dict[str, str]:
    """What Python finds of each name: there, gone or unknown, as when an import kills it."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "answers")
        place.touch()
        while left := [name for name in names if name not in found]:
            command = [str(python), "-c", ASK, str(place)]
            given = json.dumps(left)
            subprocess.run(
                command, input=given, text=True, capture_output=True, check=False
            )
            lines = [
                line.partition(" ") for line in place.read_text("utf-8").splitlines()
            ]
            found = {name: answer or "unknown" for name, _, answer in lines}
            place.write_text(
                "".join(f"{name} {answer}\n" for name, answer in found.items())
            )
    return found


def main() -> int:
    """Print the counts for each wheel, and every disagreement."""
    environment, release, *wheels = sys.argv[1:]
    told = {wheel: claims(wheel, release) for wheel in wheels}
    names = sorted({name for some in told.values() for name in some})
    truth = answers(Path(environment) / "bin" / "python", names)
    is_wrong = False
    for wheel, some in told.items():
        counts = Counter((is_gone, truth[name]) for name, is_gone in some.items())
        print(Path(wheel).name, len(some), "names", dict(counts))
        for name, is_gone in sorted(some.items()):
            if (truth[name] == "there") if is_gone else (truth[name] == "gone"):
                print(
                    f"  {'said to be gone, is there' if is_gone else 'gone, not said'}: {name}"
                )
                is_wrong |= is_gone
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())

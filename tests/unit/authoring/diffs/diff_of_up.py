"""A diff of `up`, applied by `patch` to a copy, and adopted as rows; and what comes of both."""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from authoring.index_of_up import INTO_MINE, serve
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest
    from support.packages import World

PROBE = "import json, sys\n{code}\nprint(json.dumps(value, default=repr))\n"
"""A program that prints the value that some code binds to `value`."""


def unified(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return the diff of the modules of `up`, by their names, as `diff -Nur a b` writes it."""
    parts: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        path = f"up/{name.replace('.', '/')}.py"
        before = old.get(name, "").splitlines(keepends=True)
        after = new.get(name, "").splitlines(keepends=True)
        heads = (f"a/{path}", f"b/{path}")
        if name not in old:
            heads = ("/dev/null", f"b/{path}")
        parts += difflib.unified_diff(before, after, *heads)
    return "".join(parts)


def adopt_diff(
    world: World,
    patch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    old: Mapping[str, str],
    text: str,
    *words: str,
) -> dict[str, Any]:
    """Adopt a diff of `up` 1.0 into `mine`, and return the JSON report.

    Args:
        world: The folder of both.
        patch: Points the index at it.
        capsys: Reads the report.
        old: The modules of `up` 1.0, by name.
        text: The diff.
        words: Further words of the command line.
    """
    serve(world, patch, {"1.0": old})
    (world.folder / "some.diff").write_text(text)
    capsys.readouterr()
    code = main(["adopt", "some.diff", *INTO_MINE, "--format", "json", *words])
    out, err = capsys.readouterr()
    assert out, err
    report: dict[str, Any] = json.loads(out)
    assert code == bool(report["left"])
    return report


def places(report: Mapping[str, Any]) -> list[str]:
    """Return the kind and target of each change, and a line for each thing without one."""
    found = [
        f"{change['kind']} {change['target']}"
        for patch in report["patches"]
        for change in patch["changes"]
    ]
    found += [f"left {code['place']}" for code in report["left"]]
    return sorted(found)


def answers(
    world: World, old: Mapping[str, str], text: str, code: str
) -> tuple[Any, Any]:
    """Return what a program says with the diff applied by `patch`, and with the rows instead.

    Args:
        world: The folder that has the pack `mine` and the diff.
        old: The modules of `up`, by name.
        text: The diff.
        code: The program, which binds `value`.
    """
    program = PROBE.format(code=code)
    patched = world.folder / "patched"
    for name, source in old.items():
        world.module(f"up.{name}", source)
    shutil.copytree(world.folder / "up", patched / "up")
    _apply(patched, text)
    in_front = f"import sys\nsys.path.insert(0, {str(patched)!r})\n"
    by_patch = world.answer(f"{in_front}{program}", PATCHKIT="0")
    apply = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    by_rows = world.answer(f"{apply}{program}")
    return by_patch, by_rows


def _apply(folder: Path, text: str) -> None:
    """Apply a diff with the program `patch`."""
    done = subprocess.run(
        ["patch", "-p1", "--no-backup-if-mismatch"],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""How a process is named in its journal: a module that Python runs by its name keeps that name."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from support import packages

from patchkit.cli import main
from patchkit.runtime.process.roles import command_line

if TYPE_CHECKING:
    from support.packages import World

world = packages.world

TYPED = [
    (["-m", "pkg.mod", "a", "-b"], ["-m", "a", "-b"], ["-m", "pkg.mod", "a", "-b"]),
    (["-mpkg.mod", "a"], ["/x/pkg/mod.py", "a"], ["-m", "pkg.mod", "a"]),
    (["-Bm", "pkg"], ["/x/pkg/__main__.py"], ["-m", "pkg"]),
    (["-ImX"], ["-m"], ["-m", "X"]),
    (["-X", "dev", "-W", "error", "-m", "pkg"], ["-m"], ["-m", "pkg"]),
    (["-Xdev", "-Wm", "-u", "-m", "pkg", "-m"], ["-m", "-m"], ["-m", "pkg", "-m"]),
    (["--check-hash-based-pycs", "always", "-m", "pkg"], ["-m"], ["-m", "pkg"]),
    (
        ["script.py", "-m", "pkg"],
        ["script.py", "-m", "pkg"],
        ["script.py", "-m", "pkg"],
    ),
    (["-c", "code", "-m", "x"], ["-c", "-m", "x"], ["-c", "-m", "x"]),
    (["-", "-m"], ["-", "-m"], ["-", "-m"]),
    ([], [""], [""]),
    (["-m"], ["-m"], ["-m", ""]),
    (["-m", "pkg.mod", "a"], ["serve", "b"], ["serve", "b"]),
]


@pytest.mark.parametrize(("typed", "argv", "due"), TYPED)
def test_a_module_is_named(
    typed: list[str], argv: list[str], due: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python has consumed the module's name in `sys.argv`; what was typed still has it."""
    monkeypatch.setattr("sys.orig_argv", ["python", *typed])
    monkeypatch.setattr("sys.argv", argv)
    assert command_line() == due


@pytest.mark.parametrize("typed", [["-X", "dev", "-m", "pkg", "a"], ["-mpkg", "a"]])
def test_before_site_has_ended_a_module_is_named_too(
    typed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no `sys.argv` yet, options of Python itself are left out."""
    monkeypatch.setattr("sys.orig_argv", ["python", *typed])
    monkeypatch.delattr("sys.argv")
    assert command_line() == ["-m", "pkg", "a"]


@pytest.mark.processes
@pytest.mark.parametrize("module", ["tool.main", "tool"])
@pytest.mark.parametrize("way", ["run", "plain"])
def test_status_names_a_process_by_its_module(
    world: World, capsys: pytest.CaptureFixture[str], module: str, way: str
) -> None:
    """`python -m` is shown with its module, whatever armed it, and a package by its name."""
    for name in ("tool.main", "tool.__main__"):
        world.module(name, "import patchkit.auto\n")
    words = ["-m", module, "now"]
    if way == "run":
        words = ["-m", "patchkit", "run", "--", sys.executable, *words]
    done = world.run(*words)
    assert done.returncode == 0, done.stderr
    main(["status", str(world.journal)])
    out = capsys.readouterr().out
    assert re.search(rf"^main  {re.escape(module)} now ", out, re.MULTILINE), out

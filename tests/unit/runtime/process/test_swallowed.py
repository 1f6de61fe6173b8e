"""A required patch that failed, and whose error somebody swallowed, ends the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import packages
from support.packages import row

from runtime.process import lookouts
from runtime.process.lookouts import WRAP

if TYPE_CHECKING:
    from support.packages import World

pytestmark = pytest.mark.processes

world = packages.world
upstream = lookouts.upstream

SWALLOWED = """
import patchkit.auto, atexit, sys
atexit.register(print, "other exits ran")
try:
    import up.mod
except Exception as error:
    print("swallowed", type(error).__name__)
"""


def test_a_failure_that_is_swallowed_ends_with_70(upstream: World) -> None:
    """A swallowed failure is on stderr at once and at the end, and exit handlers run."""
    upstream.module("pack.patch_a", "def misspelt(): ...")
    done = upstream.run("-c", SWALLOWED)
    assert done.returncode == 70
    assert done.stdout == "swallowed ApplyError\nother exits ran\n"
    first, last = done.stderr.splitlines()
    assert "error: required patch p (pack.patch_a) failed: TargetError" in first
    assert "if the program continues anyway, it ends with exit code 70" in first
    assert "error: exit code 70: required patch p" in last
    done = upstream.run("-c", SWALLOWED + "sys.exit(3)")
    assert done.returncode == 70


@pytest.mark.parametrize(
    ("fields", "environ", "warning"),
    [
        (
            {"roles": "set(Role)"},
            {"PATCHKIT_ON_FAILURE": "warn"},
            "warning: patch p failed",
        ),
        ({"roles": "set(Role)", "required": "False"}, {}, "warning: patch p failed"),
        ({"roles": "{Role.WORKER}"}, {}, ""),
    ],
)
def test_a_failure_that_need_not_stop_leaves_the_exit_code(
    upstream: World, fields: dict[str, str], environ: dict[str, str], warning: str
) -> None:
    """A process ends with 0 with `warn`, an optional patch, or one of another role."""
    upstream.pack(row("p", "patch_a", WRAP, **fields), patch_a="def misspelt(): ...")
    done = upstream.run("-c", "import patchkit.auto, up.mod\nprint('on')", **environ)
    assert (done.returncode, done.stdout) == (0, "on\n")
    assert warning in done.stderr
    assert "exit code" not in done.stderr


def test_a_failure_that_nobody_swallows_is_a_traceback(upstream: World) -> None:
    """A failure that nobody catches ends the process with Python's exit code, 1."""
    upstream.module("pack.patch_a", "def misspelt(): ...")
    done = upstream.run("-c", "import patchkit.auto, up.mod")
    assert done.returncode == 1
    assert "ApplyError: required patch p" in done.stderr


@pytest.mark.parametrize("hook", ["", "sys.excepthook = lambda *_: None\n"])
def test_a_failure_in_a_console_ends_with_70(upstream: World, hook: str) -> None:
    """A failure that an interactive interpreter prints ends the process with 70."""
    upstream.module("pack.patch_a", "def misspelt(): ...")
    code = "code.InteractiveInterpreter().runsource('import up.mod')\nprint('half patched')"
    done = upstream.run("-c", f"import code, sys, patchkit.auto\n{hook}{code}")
    assert (done.returncode, done.stdout) == (70, "half patched\n"), done.stderr


CHILD = """
import multiprocessing, sys, patchkit.auto
def target():
    try:
        import up.mod
    except Exception:
        print("swallowed", flush=True)
    sys.exit(int(sys.argv[2]))
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    child = context.Process(target=target, name="VllmWorker-0")
    child.start()
    child.join(20)
    print(child.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("code", [0, 5])
def test_a_child_that_swallows_a_failure_ends_with_70(
    upstream: World, method: str, code: int
) -> None:
    """A worker whose target swallows a failure ends with 70, whatever its own exit code is."""
    upstream.module("pack.patch_a", "def misspelt(): ...")
    (upstream.folder / "script.py").write_text(CHILD)
    done = upstream.run("script.py", method, str(code))
    assert done.stdout == "swallowed\n70\n", done.stderr
    assert "error: required patch p" in done.stderr


def test_a_child_of_another_role_ends_as_it_would(upstream: World) -> None:
    """A failure in main leaves the exit code of a worker that does not have the patch."""
    upstream.pack(row("p", "patch_a", WRAP), patch_a="def misspelt(): ...")
    code = """
import multiprocessing, patchkit.auto
try:
    import up.mod
except Exception:
    pass
child = multiprocessing.get_context("fork").Process(target=print, name="VllmWorker-0")
child.start()
child.join(20)
print(child.exitcode)
"""
    done = upstream.run("-c", code)
    assert (done.returncode, done.stdout) == (70, "\n0\n")


def test_a_block_that_fails_leaves_the_exit_code(upstream: World) -> None:
    """A block whose patch fails raises in an armed process, which can still end with 0."""
    upstream.pack(
        row("p", "patch_a", WRAP, roles="{Role.WORKER}"), patch_a="def misspelt(): ..."
    )
    code = """
import patchkit, patchkit.auto
try:
    with patchkit.applied("p"): ...
except Exception as error:
    print(type(error).__name__)
"""
    done = upstream.run("-c", code)
    assert (done.returncode, done.stdout) == (0, "ApplyError\n")


def test_no_role_is_entered_after_a_failure(upstream: World) -> None:
    """Each role entry raises once a target was overwritten, whoever swallowed that error."""
    code = """
import json, patchkit.auto, up.mod
from awaiting import await_entry
from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.reach.arming import current
up.mod.function = None
await_entry(event="patch", status="failed")
for role in (Role.MAIN, Role.WORKER):
    try:
        current().enter(role)
    except Exception as error:
        print(type(error).__name__)
"""
    done = upstream.run("-c", code, PATCHKIT_VERIFY="0.01")
    assert (done.returncode, done.stdout) == (70, "ApplyError\n" * 2)

"""What a user sees of a body that fails: a traceback that begins at the body."""

from __future__ import annotations

import re
import sys

import pytest
from support import packages
from support.packages import World, row

import patchkit
from patchkit.runtime.tracebacks import leave_out_own_frames, trace_of

world = packages.world
OWN = str(patchkit.__file__).removesuffix("__init__.py")
BODY = """
def read_table():
    try:
        return {}["table"]
    except KeyError as error:
        raise RuntimeError("no table") from error

TABLE = read_table()
"""


def own_frames(text: str) -> list[str]:
    """The lines of a traceback that name a file of patchkit, or of importlib's own."""
    lines = re.findall(r'File "[^"]*"', text)
    return [line for line in lines if OWN in line or "importlib/__init__" in line]


def make_failing(world: World, body: str = BODY) -> None:
    """A pack whose body fails as it is imported."""
    world.module("up.mod", "def f(): ...\n")
    world.module("up.user", "import up.mod\n")
    change = "Replace('up.mod:f', by='f')"
    world.pack(row("one", "patch_one", change), patch_one=body)


@pytest.mark.processes
@pytest.mark.parametrize(
    "code",
    [
        "import patchkit.auto, up.user",
        "from patchkit import applied\nwith applied('one'): pass",
    ],
)
def test_a_traceback_begins_at_the_body(world: World, code: str) -> None:
    """The first frames are the body's, causes included, and no frame is patchkit's.

    Python 3.10 keeps the frame in which an error is raised again.
    """
    make_failing(world)
    done = world.run("-c", code)
    assert done.returncode == 1
    raised_again = sys.version_info < (3, 11) and "applied" in code
    assert len(own_frames(done.stderr)) == int(raised_again)
    frames = re.findall(r'File "[^"]*/(\w+\.py)", line (\d+)', done.stderr)
    assert frames[:3] == [
        ("patch_one.py", "4"),
        ("patch_one.py", "8"),
        ("patch_one.py", "6"),
    ]
    assert "patch one (pack.patch_one) failed: RuntimeError: no table" in done.stderr


@pytest.mark.processes
def test_with_log_debug_the_traceback_is_whole(world: World) -> None:
    """With PATCHKIT_LOG=debug the frames of patchkit are in the traceback."""
    make_failing(world)
    done = world.run("-c", "import patchkit.auto, up.user", PATCHKIT_LOG="debug")
    assert len(own_frames(done.stderr)) > 10


@pytest.mark.processes
def test_the_journal_holds_the_traceback_of_a_failure(world: World) -> None:
    """The entry of a failure has the lines of the body's traceback, with its cause."""
    make_failing(world)
    world.run("-c", "import patchkit.auto, up.user")
    (entry,) = [entry for entry in world.entries() if entry.get("status") == "failed"]
    text = "\n".join(entry["trace"])
    assert "KeyError: 'table'" in text
    assert text.endswith("RuntimeError: no table")
    assert own_frames(text) == []


@pytest.mark.processes
def test_a_syntax_error_of_a_body_names_its_line(world: World) -> None:
    """The traceback of a body that does not parse has the line, and no frame of patchkit."""
    make_failing(world, "def f(:\n")
    done = world.run("-c", "import patchkit.auto, up.user")
    assert own_frames(done.stderr) == []
    assert 'patch_one.py", line 1' in done.stderr
    (entry,) = [entry for entry in world.entries() if entry.get("status") == "failed"]
    assert "def f(:" in "\n".join(entry["trace"])


@pytest.mark.processes
def test_a_body_that_imports_a_module_itself_keeps_that_frame(world: World) -> None:
    """A call of `import_module` in the body is the body's, and stays in the traceback."""
    make_failing(world, "import importlib\nimportlib.import_module('nowhere')\n")
    done = world.run("-c", "import patchkit.auto, up.user")
    (frame,) = own_frames(done.stderr)
    assert "importlib/__init__" in frame


def test_a_failure_of_patchkit_itself_has_no_traceback() -> None:
    """Where no frame is left there are no lines: the message says it all."""
    error = ValueError("wrong")
    assert trace_of(error) == {}


def test_errors_that_refer_to_each_other_end() -> None:
    """A circle of causes, and errors with other fields of the same name, are walked once."""
    first = ValueError("first")
    second = ValueError("second")
    first.__cause__ = second
    second.__context__ = first
    second.exceptions = "none"  # type: ignore[attr-defined]
    leave_out_own_frames(first)
    assert first.__traceback__ is None

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import BODY, MAIN, UPSTREAM, WRAP, a_world, load
from support.packages import World, row
from support.reviews import review

from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import APPLIED, FAILED, SKIPPED

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

TARGET = "up.mod:function"
DRIFTED = UPSTREAM.replace("'old'", "'newer'")


def a_drifted_world(world: World, **fields: str) -> None:
    """Upstream is not as it was when the patch was reviewed."""
    a_world(world, WRAP, **fields)
    review(world, TARGET)
    world.module("up.mod", DRIFTED)


def test_what_was_reviewed_is_applied_in_silence(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is said and nothing written."""
    session = a_world(world, WRAP)
    review(world, TARGET)
    session.arm(MAIN)
    assert load("up.mod").function() == ("by", "old")
    assert not capsys.readouterr().err
    assert not [
        entry for entry in session.journal.entries if entry["event"] == "unreviewed"
    ]


def test_drift_is_told_and_applied(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, on stderr and in the journal, with what to do."""
    a_drifted_world(world)
    session = world.session()
    session.arm(MAIN)
    assert load("up.mod").function() == ("by", "newer")
    stderr = capsys.readouterr().err
    assert stderr.count("up.mod:function differs from the source last reviewed") == 1
    assert "'patchkit diff p --here', then 'patchkit lock p --here'" in stderr
    (note,) = (
        entry for entry in session.journal.entries if entry["event"] == "unreviewed"
    )
    assert note["name"] == "p"
    assert "differs from the source last reviewed" in note["reason"]
    assert session.states["p"].status == APPLIED


def test_what_to_do_names_a_pack_that_only_a_variable_names(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told can be pasted into a shell that does not have PATCHKIT_PATCHES."""
    a_drifted_world(world)
    world.session(packs=("pack",)).arm(MAIN)
    load("up.mod")
    assert "'patchkit lock p --here --patches pack'" in capsys.readouterr().err


def test_stop_applies_nothing(world: World) -> None:
    """It is a failure like any other: the import stops, and so does every role."""
    a_drifted_world(world)
    session = world.session(on_drift="stop")
    session.arm(MAIN)
    with pytest.raises(
        ApplyError,
        match=r"DriftError: up\.mod:function differs from the source last reviewed",
    ):
        load("up.mod")
    assert session.states["p"].status == FAILED


def test_stop_is_softened_like_any_failure(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """With PATCHKIT_ON_FAILURE=warn the process goes on without the patch."""
    a_drifted_world(world)
    session = world.session(on_drift="stop", on_failure="warn")
    session.arm(MAIN)
    assert load("up.mod").function() == "newer"
    assert "patch p failed: DriftError" in capsys.readouterr().err


@pytest.mark.parametrize("required", [True, False])
def test_skip_leaves_the_patch_out(
    required: bool, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reason, whole; one warning says that a required patch is missing."""
    a_drifted_world(world, required=str(required))
    session = world.session(on_drift="skip")
    session.arm(MAIN)
    assert load("up.mod").function() == "newer"
    state = session.states["p"]
    assert (state.status, "differs from the source last reviewed" in state.reason) == (
        SKIPPED,
        True,
    )
    warned = capsys.readouterr().err.count(
        "p: required, and left out: up.mod:function differs from"
    )
    assert warned == required


@pytest.mark.processes
@pytest.mark.parametrize("broken", [False, True])
def test_run_says_what_skip_leaves_out(broken: bool, world: World) -> None:
    """Its closing line names it, and `status` has a finding; so for a lock that is none."""
    a_drifted_world(world)
    if broken:
        (world.folder / "pack" / "patchkit.lock").write_text("format 2\n<<<<<<< ours\n")
    command = ("-m", "patchkit", "run", "--patches", "pack", "--", sys.executable, "-c")
    done = world.run(*command, "import up.mod", PATCHKIT_ON_DRIFT="skip")
    last = done.stderr.splitlines()[-1]
    expected = (
        "patchkit.lock:2: found"
        if broken
        else "p: left out: up.mod:function differs from"
    )
    assert expected in last, done.stderr


def test_skip_is_decided_before_anything_applies(world: World) -> None:
    """A second module's drift keeps the first module as it is."""
    world.module("up.first", "def f(): return 'first'\n")
    world.module("up.mod", UPSTREAM)
    changes = ("Wrap('up.first:f', by='by')", WRAP)
    body = BODY.replace("from up.mod import function as original", "original = print")
    world.pack(row("p", "patch_a", *changes), patch_a=body)
    review(world, "up.first:f", TARGET)
    world.module("up.mod", DRIFTED)
    session = world.session(on_drift="skip")
    session.arm(MAIN)
    assert load("up.first").f() == "first"
    assert session.states["p"].status == SKIPPED


def test_skipped_patches_are_not_in_the_agreed_set(world: World) -> None:
    """What the main process says of a worker's patches is what the worker finds."""
    a_world(world, WRAP, roles="{Role.WORKER}")
    review(world, TARGET)
    assert "p" in stamped(world.session())
    world.module("up.mod", DRIFTED)
    assert "p" not in stamped(world.session(on_drift="skip"))
    assert "p" in stamped(world.session(on_drift="warn"))


def stamped(session: Session) -> Any:
    """The patches for a worker, as the main process writes them into a configuration."""
    config = SimpleNamespace(additional_config={})
    session.stamp(config)
    return config.additional_config["patchkit"]["worker"]


def test_a_broken_lock_is_no_review(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The policy decides, and the line is named."""
    session = a_world(world, WRAP)
    (world.folder / "pack" / "patchkit.lock").write_text("format 2\n<<<<<<< ours\n")
    session.arm(MAIN)
    assert load("up.mod").function() == ("by", "old")
    stderr = capsys.readouterr().err
    assert "what was reviewed cannot be read: " in stderr
    assert "patchkit.lock:2: found '<<<<<<< ours'" in stderr


def test_only_changes_for_here_are_looked_at(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change for another version needs no review here."""
    session = a_world(
        world, WRAP, "Replace('up.mod:Thing', by='function', requires=('up>=2',))"
    )
    review(world, TARGET)
    session.arm(MAIN)
    assert load("up.mod").function() == ("by", "old")
    assert not capsys.readouterr().err


@pytest.mark.processes
def test_a_forked_child_tells_too(world: World) -> None:
    """Its journal is its own, and what it runs is what its parent applied."""
    a_drifted_world(world)
    script = """
    import json, os, patchkit.auto, up.mod
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    print(json.dumps([os.getpid(), pid]))
    """
    pids = world.answer(script)
    reporting = [
        entry["pid"] for entry in world.entries() if entry["event"] == "unreviewed"
    ]
    assert sorted(reporting) == sorted(pids)


@pytest.mark.processes
def test_every_process_tells(world: World) -> None:
    """A real process, armed by its environment, warns about what it runs."""
    a_drifted_world(world)
    done = world.run("-c", "import patchkit.auto, up.mod; print(up.mod.function())")
    assert done.stdout == "('by', 'newer')\n"
    assert (
        "warning: p: up.mod:function differs from the source last reviewed"
        in done.stderr
    )
    stopped = world.run("-c", "import patchkit.auto, up.mod", PATCHKIT_ON_DRIFT="stop")
    assert stopped.returncode == 1
    assert "DriftError" in stopped.stderr
    named = world.run("-c", "import patchkit.auto, up.mod", PATCHKIT_LOCK="none.lock")
    assert "found no file 'none.lock', expected a lock" in named.stderr


# -- a version that says nothing -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requires", "status", "reason"),
    [
        ("('up>=1',)", APPLIED, ""),
        ("('up>=1,<1.5', 'up!=0.9')", APPLIED, ""),
        ("('up>=1.5',)", SKIPPED, "the source of up here matches 1.0, outside >=1.5"),
    ],
)
def test_the_source_tells_where_the_version_does_not(
    world: World, requires: str, status: str, reason: str
) -> None:
    """A build without a tag is judged by what was reviewed, and so are its changes."""
    (world.folder / "up").mkdir()
    (world.folder / "up" / "__init__.py").write_text(
        "__version__ = '0.1.dev7+g012345'\n"
    )
    newer = "Replace('up.mod:Thing', by='function', requires=('up>=2',))"
    a_world(world, WRAP, newer, requires=requires)
    review(world, TARGET)
    session = world.session(versions=None)
    session.arm(MAIN)
    load("up.mod")
    state = session.states["p"]
    assert (state.status, state.reason) == (status, reason)


@pytest.mark.parametrize("case", ["drifted", "unreviewed", "between", "override"])
def test_a_version_that_says_nothing_is_an_error_where_the_source_does_not_tell(
    world: World, case: str
) -> None:
    """Another source, none reviewed, a range that ends in between, a variable that says nothing."""
    (world.folder / "up").mkdir()
    (world.folder / "up" / "__init__.py").write_text(
        "__version__ = '0.1.dev7+g012345'\n"
    )
    a_world(world, WRAP, requires="('up>=1,<1.5',)")
    if case != "unreviewed":
        review(world, TARGET, last="2.0" if case == "between" else "1.0")
    if case == "drifted":
        world.module("up.mod", DRIFTED)
    session = world.session(versions="0.1.dev7" if case == "override" else None)
    session.arm(MAIN)
    with pytest.raises(ApplyError, match="does not say which release it is"):
        load("up.mod")

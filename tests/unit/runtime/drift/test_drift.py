from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import BODY, MAIN, UPSTREAM, WRAP, a_world, load
from support.packages import World, row
from support.reviews import review

from patchkit.core.rows.declaration import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import APPLIED, FAILED, SKIPPED

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

TARGET = "up.mod:function"
DRIFTED = UPSTREAM.replace("'old'", "'newer'")


def a_drifted_world(world: World, **fields: str) -> None:
    """Write a patch that was reviewed, and a target that has changed since."""
    a_world(world, WRAP, **fields)
    review(world, TARGET)
    world.module("up.mod", DRIFTED)


def test_what_was_reviewed_is_applied_in_silence(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch of a target that is as reviewed is applied; nothing is said, no drift journalled."""
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
    """A drifted patch is applied; stderr says so once, with what to do, and so does the journal."""
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
    """The command that is told names the pack, so that it works without PATCHKIT_PATCHES."""
    a_drifted_world(world)
    world.session(packs=("pack",)).arm(MAIN)
    load("up.mod")
    assert "'patchkit lock p --here --patches pack'" in capsys.readouterr().err


def test_stop_applies_nothing(world: World) -> None:
    """With `stop` a drifted patch fails, and so does the import of its target."""
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
    """With `skip` a drifted patch is left out, with the reason; one warning says so if it is
    required.
    """
    a_drifted_world(world, required=str(required))
    session = world.session(on_drift="skip")
    session.arm(MAIN)
    assert load("up.mod").function() == "newer"
    state = session.states["p"]
    assert state.status == SKIPPED
    assert "differs from the source last reviewed" in state.reason
    warning = "p: required, and left out: up.mod:function differs from"
    assert capsys.readouterr().err.count(warning) == (1 if required else 0)


@pytest.mark.processes
@pytest.mark.parametrize("broken", [False, True])
def test_run_says_what_skip_leaves_out(broken: bool, world: World) -> None:
    """The closing line of `patchkit run` names the patch, or the lock that cannot be read."""
    a_drifted_world(world)
    if broken:
        (world.folder / "pack" / "patchkit.lock").write_text("format 2\n<<<<<<< ours\n")
    command = ("-m", "patchkit", "run", "--patches", "pack", "--", sys.executable, "-c")
    done = world.run(*command, "import up.mod", PATCHKIT_ON_DRIFT="skip")
    expected = "p: left out: up.mod:function differs from"
    if broken:
        expected = "patchkit.lock:2: found"
    assert expected in done.stderr.splitlines()[-1], done.stderr


def test_skip_is_decided_before_anything_applies(world: World) -> None:
    """A patch of two modules, of which the second has drifted, leaves the first as it is."""
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
    """The patches that the main process expects of a worker lack those that drift leaves out."""
    a_world(world, WRAP, roles="{Role.WORKER}")
    review(world, TARGET)
    assert "p" in stamped(world.session())
    world.module("up.mod", DRIFTED)
    assert "p" not in stamped(world.session(on_drift="skip"))
    assert "p" in stamped(world.session(on_drift="warn"))


def stamped(session: Session) -> Any:
    """The patches for a worker, as the main process writes them into a configuration."""
    config = SimpleNamespace(additional_config={})
    session.exchange_digests([Role.MAIN], [config])
    return config.additional_config["patchkit"]["worker"]


def test_a_broken_lock_is_no_review(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch whose lock cannot be read is applied, and stderr names the line of the lock."""
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
def test_a_start_with_a_lock_parses_nothing_and_loads_no_openssl(world: World) -> None:
    """A target that is as reviewed is compared by its text, with the hash that Python brings."""
    a_world(world, WRAP)
    review(world, TARGET)
    pack = world.folder / "pack" / "__init__.py"
    pack.write_text(pack.read_text().replace(", applied", ""))  # which is for tests
    script = """
    import json, sys, patchkit.auto
    from patchkit.runtime.reach.arming import current
    session = current()
    assert not session._table.selection.unreviewed(session.states["p"].row)
    assert "patchkit.core.text.wording" in sys.modules
    print(json.dumps(sorted({"_hashlib", "hashlib", "ast"} & set(sys.modules))))
    """
    assert world.answer(script, PATCHKIT_JOURNAL="") == []


@pytest.mark.processes
def test_a_forked_child_tells_too(world: World) -> None:
    """A forked child has the drift of what its parent applied in its own journal."""
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
    """A process that its environment arms warns of drift, stops with `stop`, and names a lock
    that is missing.
    """
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
    """A build without a tag has the version that its source was reviewed for, and so have its
    changes.
    """
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
    """The patch fails where its source has drifted or was never reviewed, where its range ends
    within the reviewed versions, and where a setting gives the version that says nothing.
    """
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

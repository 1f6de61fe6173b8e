from __future__ import annotations

import importlib
import pickle
import sys
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from support.packages import World, row

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import APPLIED, ARMED, FAILED, SKIPPED

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world


# -- failure ---------------------------------------------------------------------------------------


def test_a_failure_changes_nothing_and_stops(world: World) -> None:
    """A patch that fails fails the import, with the reason, and none of its changes is left."""
    session = a_world(world, WRAP, "Replace('up.mod:gone', by='function')")
    session.arm(MAIN)
    with pytest.raises(ApplyError, match=r"patch p .*up\.mod:gone is not there"):
        load("up.mod")
    assert "up.mod" not in sys.modules
    assert session.states["p"].status == FAILED
    assert session.journal.entries[-1]["status"] == FAILED


@pytest.mark.parametrize("where", ["", "def by(w, i, a, k): ...\n\ndef when():\n    "])
def test_a_body_that_exits_fails_its_patch(world: World, where: str) -> None:
    """`sys.exit(0)` in a body or in its `when` is a failure, and does not end a process with 0."""
    world.module("up.mod", "def function(): return 'old'\n")
    asks = {"when": "'when'"} if where else {}
    changes = ("Wrap('up.mod:function', by='by')",)
    world.pack(
        row("p", "patch_a", *changes, **asks), patch_a=f"{where}raise SystemExit(0)\n"
    )
    session = world.session()
    session.arm(MAIN)
    with pytest.raises(ApplyError, match=r"patch p .*SystemExit: 0"):
        load("up.mod")
    assert session.states["p"].status == FAILED


def test_a_retry_raises_again(world: World) -> None:
    """Each further import of the target of a failed patch raises again."""
    session = a_world(world, "Replace('up.mod:gone', by='function')")
    session.arm(MAIN)
    for _ in range(3):
        with pytest.raises(ApplyError):
            load("up.mod")


def test_a_swallowed_failure_stops_the_role(world: World) -> None:
    """After a failed import that upstream has caught, entering a role of the patch raises."""
    session = a_world(world, "Replace('up.mod:gone', by='function')", roles="set(Role)")
    session.arm(MAIN)
    with pytest.raises(ApplyError):
        load("up.mod")
    for role in Role:
        with pytest.raises(ApplyError, match="half patched"):
            session.enter(role)
    with pytest.raises(ApplyError):
        session.stop_if_failed()


def test_a_late_failure_stops_at_role_entry(world: World) -> None:
    """Each entry raises where a late patch fails, and the module stays as it was."""
    session = a_world(
        world, WRAP, "Replace('up.mod:gone', by='function')", roles="{Role.WORKER}"
    )
    session.arm(MAIN)
    module = load("up.mod")
    original = module.function
    for _ in range(2):
        with pytest.raises(ApplyError):
            session.enter(Role.WORKER)
    assert module.function is original


def test_a_failure_in_a_second_module_takes_the_first_back(world: World) -> None:
    """A change that fails in a second module undoes those of the first one, and of its copies."""
    world.module("up.other")
    session = a_world(world, WRAP, "Replace('up.other:gone', by='function')")
    session.arm(MAIN)
    module = load("up.mod")
    world.module("up.user", "from up.mod import function")
    user = load("up.user")
    with pytest.raises(ApplyError):
        load("up.other")
    assert module.function() == user.function() == "old"


def test_other_patches_are_not_taken_along(world: World) -> None:
    """A patch that was applied before another one failed stays applied."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("bad", "patch_b", "Replace('up.mod:gone', by='by')", after="('good',)"),
        row("good", "patch_a", WRAP),
        patch_a=BODY,
        patch_b=BODY,
    )
    session = world.session()
    module = load("up.mod")
    with pytest.raises(ApplyError):
        session.arm(MAIN)
    assert module.function() == ("by", "old")
    assert session.states["good"].status == APPLIED


BY = "def by(wrapped, instance, args, kwargs): return 'by'"


def statuses(session: Session, name: str) -> list[str]:
    """Return the statuses that the journal has of a patch, in order."""
    entries = session.journal.entries
    of_patches = [entry for entry in entries if entry["event"] == "patch"]
    return [entry["status"] for entry in of_patches if entry["name"] == name]


def test_a_failure_does_not_fail_a_patch_whose_body_meets_it(world: World) -> None:
    """The patch stays armed, and its reason names the one that failed while its body loaded."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other", UPSTREAM)
    world.pack(
        row("good", "patch_a", WRAP),
        row("bad", "patch_b", "Wrap('up.other:gone', by='by')"),
        patch_a=f"import up.other\n{BY}",
        patch_b=BY,
    )
    session = world.session()
    module = load("up.mod")
    for _ in range(2):  # the second time somebody has swallowed the first
        with pytest.raises(ApplyError, match=r"required patch bad .*gone"):
            session.arm(MAIN)
    good = session.states["good"]
    assert good.status == ARMED
    assert good.error is None
    assert good.reason == "waits for required patch bad, which failed meanwhile"
    assert FAILED not in statuses(session, "good")
    assert statuses(session, "bad") == [FAILED]
    assert module.function() == "old"


@pytest.mark.parametrize("names", [("good", "bad"), ("bad", "good")])
def test_patches_that_share_a_body_apply_in_the_order_of_their_rows(
    world: World, names: tuple[str, str]
) -> None:
    """What comes before a failure stays, and what comes after it waits."""
    changes = {"good": WRAP, "bad": "Wrap('up.mod:gone', by='by')"}
    world.module("up.mod", UPSTREAM)
    rows = [row(name, "patch_a", changes[name]) for name in names]
    world.pack(*rows, patch_a=BY)
    session = world.session()
    load("up.mod")
    for _ in range(2):
        with pytest.raises(ApplyError, match=r"required patch bad .*gone"):
            session.arm(MAIN)
    is_first = names[0] == "good"
    assert session.states["good"].status == (APPLIED if is_first else ARMED)
    assert session.states["good"].error is None


def test_a_failure_does_not_fail_a_patch_whose_body_imports_the_target(
    world: World,
) -> None:
    """A patch that imports the target of a failing patch is undone, and armed."""
    world.module("up.mod", UPSTREAM)
    world.module("up.later", UPSTREAM)
    world.module("up.other")
    world.pack(
        row("good", "patch_a", WRAP, "AfterImport('up.later', call='load')"),
        row("bad", "patch_b", "Wrap('up.other:gone', by='by')"),
        patch_a=BY + "\ndef load(module): import up.other",
        patch_b=BY,
    )
    session = world.session()
    session.arm(MAIN)
    assert load("up.mod").function() == "by"
    with pytest.raises(ApplyError, match=r"required patch bad .*gone"):
        load("up.later")
    assert load("up.mod").function() == "old"
    assert statuses(session, "good") == [APPLIED, ARMED]
    assert "bad" in session.states["good"].reason


def test_a_failure_within_the_own_body_is_written_once(world: World) -> None:
    """A patch that fails in a module that its own body imports has one failure, with its cause."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other")
    world.pack(
        row(
            "p",
            "patch_a",
            WRAP,
            "AfterImport('up.mod', call='load')",
            "Add('up.other:x', by='x')",
        ),
        patch_a=BY + "\ndef load(module): import up.other",
    )
    session = world.session()
    session.arm(MAIN)
    with pytest.raises(ApplyError):
        load("up.mod")
    assert statuses(session, "p") == [FAILED]
    assert session.states["p"].reason.startswith("TargetError")


@pytest.mark.parametrize("how", ["optional", "warn"])
def test_a_failure_that_need_not_stop(
    world: World, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure of an optional patch, or with `warn`, is one warning, and the original works."""
    required = {"required": "False"} if how == "optional" else {}
    a_world(world, WRAP, "Replace('up.mod:gone', by='by')", **required)
    on_failure = "warn" if how == "warn" else "stop"
    session = world.session(on_failure=on_failure)
    session.arm(MAIN)
    assert load("up.mod").function() == "old"
    importlib.reload(load("up.mod"))
    session.enter(Role.WORKER)
    session.stop_if_failed()
    assert capsys.readouterr().err.count("warning: patch p failed") == 1


def test_a_body_may_use_the_target_through_its_package(world: World) -> None:
    """A body may use `import up.mod` and `up.mod.Thing` while `up.mod` is still importing."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("p", "patch_a", "Replace('up.mod:Thing', by='Thing')"),
        patch_a="import up.mod\nclass Thing(up.mod.Thing): ...",
    )
    world.session().arm(MAIN)
    assert load("up.mod").Thing.__module__ == "pack.patch_a"


def test_an_error_of_the_body_is_an_apply_error(world: World) -> None:
    """A body that cannot be imported raises an ApplyError, whose cause is Python's error."""
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", REPLACE), patch_a="import no_such_module")
    world.session().arm(MAIN)
    with pytest.raises(ApplyError, match="no_such_module") as caught:
        load("up.mod")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_an_error_of_the_target_itself_is_raised_as_it_is(world: World) -> None:
    """A target that fails to import raises its own error, and is patched once it succeeds."""
    session = a_world(world)
    file = world.module("up.mod", "raise ZeroDivisionError('theirs')")
    session.arm(MAIN)
    with pytest.raises(ZeroDivisionError, match="theirs"):
        load("up.mod")
    file.write_text(UPSTREAM + "# and longer\n")
    importlib.invalidate_caches()
    assert load("up.mod").function() == ("new", "old")


def test_a_failed_module_is_not_in_its_package(world: World) -> None:
    """After a failure, the package does not have the module as an attribute."""
    session = a_world(world, "Replace('up.mod:gone', by='function')")
    session.arm(MAIN)
    with pytest.raises(ApplyError):
        load("up.mod")
    assert not hasattr(load("up"), "mod")


# -- skipping --------------------------------------------------------------------------------------


def test_a_row_for_another_version_is_skipped(world: World) -> None:
    """A row for another version is skipped, its reason names the version, and no body is loaded."""
    a_world(world)
    session = world.session(versions="0.5")
    session.arm(MAIN)
    assert load("up.mod").function() == "old"
    assert session.states["p"].status == SKIPPED
    assert "0.5" in session.states["p"].reason
    assert "pack.patch_a" not in sys.modules


def test_a_patch_that_the_user_has_disabled(world: World) -> None:
    """A patch that PATCHKIT_DISABLE names is left out, and its reason says so."""
    a_world(world)
    session = world.session(disabled=("p",))
    session.arm(MAIN)
    assert load("up.mod").function() == "old"
    assert session.states["p"].reason == "disabled by PATCHKIT_DISABLE"


@pytest.mark.parametrize("field", ["only", "disabled"])
def test_a_mistyped_name_stops_where_a_patch_is_due(world: World, field: str) -> None:
    """An unknown name fails the import and the role entry, with the variable that has it."""
    a_world(world)
    session = world.session(**{field: ("q",)})
    session.arm(MAIN)
    variable = {"only": "PATCHKIT_ONLY", "disabled": "PATCHKIT_DISABLE"}[field]
    with pytest.raises(
        ApplyError, match=rf"{variable}: found 'q', expected a patch's name: p"
    ) as caught:
        load("up.mod")
    # Every patch would fail alike: the one that is due first is not to blame.
    assert str(caught.value).startswith(f"no patch can be applied: {variable}: ")
    assert "required patch" not in str(caught.value)
    with pytest.raises(ApplyError, match=variable):
        session.enter(Role.MAIN)


def test_a_reason_that_is_a_sentence_gets_no_second_full_stop(world: World) -> None:
    """An error whose cause ends with a full stop has no second one there."""
    a_world(world)
    session = world.session(versions="banana")
    session.arm(MAIN)
    with pytest.raises(ApplyError, match="which is no version") as caught:
        load("up.mod")
    assert ".." not in str(caught.value)
    assert "to the release that runs here. The process stops" in str(caught.value)
    # The next patch would fail alike.
    assert "PATCHKIT_DISABLE" not in str(caught.value)


def test_conflicting_patches_stop(world: World) -> None:
    """Two rows that exclude each other raise an error that names both."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("one", "patch_a", WRAP),
        row("two", "patch_b", WRAP, conflicts="('one',)"),
        patch_a=BODY,
        patch_b=BODY,
    )
    world.session().arm(MAIN)
    with pytest.raises(
        ApplyError, match=r"(?s)one .*conflicts with two.*PATCHKIT_DISABLE"
    ):
        load("up.mod")


# -- pickling --------------------------------------------------------------------------------------


def test_patched_functions_and_classes_pickle_by_reference(world: World) -> None:
    """Replaced functions and classes are the very same after a round trip through pickle."""
    session = a_world(world, REPLACE, "Replace('up.mod:Thing', by='Thing')")
    body = BODY + "import up.mod\nclass Thing(up.mod.Thing): ...\n"
    world.module("pack.patch_a", body)
    session.arm(MAIN)
    module = load("up.mod")
    for value in (module.function, module.Thing):
        assert pickle.loads(pickle.dumps(value)) is value

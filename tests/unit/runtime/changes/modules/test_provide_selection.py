from __future__ import annotations

import importlib
import importlib.util
import sys

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, row

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import APPLIED, FAILED, SKIPPED
from runtime.changes.modules.providing import BODY, PROVIDE, a_world, armed

world = packages.world


# -- who gets it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["up.llm", "up.none", "up.llm.sub"])
def test_without_the_patch_python_says_what_it_says(world: World, name: str) -> None:
    """For another role or version the import raises the very error of an unarmed process."""

    def import_error() -> tuple[str, str | None]:
        with pytest.raises(ModuleNotFoundError) as caught:
            load(name)
        return str(caught.value), caught.value.name

    a_world(world, roles="{Role.WORKER}")
    plain = import_error()
    world.session().arm(MAIN)
    assert import_error() == plain
    world.session(versions="0.5").arm(frozenset({Role.WORKER}))
    assert import_error() == plain
    assert importlib.util.find_spec("up.llm") is None
    assert "pack.patch_a" not in sys.modules


def test_a_role_that_comes_later(world: World) -> None:
    """What was not there for one role is there as soon as the process enters another."""
    session = armed(world, roles="{Role.WORKER}")
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    session.enter(Role.WORKER)
    assert load("up.llm").build().run() == "run"
    session.become({Role.MAIN})
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")


@pytest.mark.parametrize(
    ("roles", "is_served"), [("set(Role)", True), ("{Role.MAIN}", False)]
)
def test_an_import_before_the_role_is_known(
    world: World, roles: str, is_served: bool
) -> None:
    """A module for every role is there at once: a Ray actor's own module may import it."""
    a_world(world, roles=roles)
    session = world.session()
    session.arm(frozenset())
    assert (importlib.util.find_spec("up.llm") is not None) is is_served
    if is_served:
        assert load("up.llm").build().run() == "run"
    session.enter(Role.MAIN)
    assert load("up.llm").build().run() == "run"
    assert session.states["p"].status == APPLIED


def test_an_import_that_failed_before_patchkit_came(world: World) -> None:
    """The module is served although its import has failed earlier in this process."""
    a_world(world)
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    world.session().arm(MAIN)
    assert load("up.llm").build().run() == "run"


def test_when_says_no(world: World) -> None:
    """The patch is skipped with its reason, and the module is not there."""
    session = armed(world, when="'ask'", body="def ask(): return 'not today'\n")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'up.llm'"):
        load("up.llm")
    state = session.states["p"]
    assert (state.status, state.reason) == (SKIPPED, "not today")
    assert importlib.util.find_spec("up.llm") is None


def test_a_change_for_other_versions(world: World) -> None:
    """A Provide whose `requires` names another release provides nothing."""
    armed(world, "Provide('up.llm', requires=('up<1',))", "Provide('up.other')")
    load("up.other")
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")


@pytest.mark.parametrize("name", ["gone.llm", "up.mod.llm"])
def test_without_a_parent_package(world: World, name: str) -> None:
    """If the parent is missing or no package, the import raises Python's own error."""
    a_world(world, f"Provide({name!r})")
    with pytest.raises(ModuleNotFoundError) as plain:
        load(name)
    world.session().arm(MAIN)
    with pytest.raises(ModuleNotFoundError) as caught:
        load(name)
    assert str(caught.value) == str(plain.value)


# -- upstream has it ------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
def test_upstream_has_it_by_now(world: World, late: bool) -> None:
    """The patch fails and names upstream's file, also where the module was imported before."""
    a_world(world)
    file = world.module("up.llm", "upstreams = True\n")
    session = world.session()
    message = rf"upstream has this module already, found {file}"
    if late:
        load("up.llm")
        with pytest.raises(ApplyError, match=message):
            session.arm(MAIN)
    else:
        session.arm(MAIN)
        assert importlib.util.find_spec("up.llm") is not None
        with pytest.raises(ApplyError, match=message):
            load("up.llm")
    assert session.states["p"].status == FAILED


def test_upstream_has_it_and_the_patch_is_not_required(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Upstream's module is used, and one line says so."""
    a_world(world, required="False")
    world.module("up.llm", "upstreams = True\n")
    world.session().arm(MAIN)
    assert load("up.llm").upstreams
    assert not hasattr(load("up.llm"), "build")
    assert capsys.readouterr().err.count("upstream has this module already") == 1


def test_another_patch_provides_it(world: World) -> None:
    """Two patches for one module: the second fails, naming the first."""
    world.module("up.mod")
    world.pack(
        row("one", "patch_a", PROVIDE),
        row("two", "patch_b", PROVIDE),
        patch_a=BODY,
        patch_b=BODY,
    )
    world.session().arm(MAIN)
    with pytest.raises(ApplyError, match="patch one provides this module already"):
        load("up.llm")

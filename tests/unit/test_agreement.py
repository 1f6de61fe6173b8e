from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import packages
import pytest
from packages import World, row

from patchkit import Role, agreement
from patchkit.errors import AgreementError

if TYPE_CHECKING:
    from patchkit.session import Session

world = packages.world

REPLACE = "Replace('up.mod:function', by='function')"
BODY = "def function(): return 'new'\ndef when(): return True\n"
BOTH = "{Role.MAIN, Role.WORKER}"


def a_session(world: World, *rows: str, body: str = BODY, **settings: Any) -> Session:
    """Make a session over upstream and a pack whose rows share one body."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(*(rows or (row("p", "patch_a", REPLACE, roles=BOTH),)), patch_a=body)
    return world.session(**settings)


def a_config(**fields: Any) -> Any:
    """What patchkit knows of `VllmConfig`."""
    return SimpleNamespace(additional_config=fields)


def digests(session: Session) -> dict[str, str]:
    """What the session told its journal."""
    entries = [entry for entry in session.journal.entries if entry["event"] == "digest"]
    return {entry["role"]: entry["digest"] for entry in entries}


def test_equal_sets_agree(world: World) -> None:
    """What main wrote is what a worker with the same pack and settings finds for itself."""
    config = a_config(other=1)
    session = a_session(world)
    session.stamp(config)
    session.agree(Role.WORKER, config)
    assert config.additional_config["other"] == 1
    assert set(config.additional_config["patchkit"]["worker"]) == {"p"}
    assert digests(session)["main"] == digests(session)["worker"]


def test_a_worker_that_leaves_a_patch_out_is_stopped(world: World) -> None:
    """The error names the patch, both sets and the node."""
    config = a_config()
    a_session(world).stamp(config)
    other = world.session(disabled=("p",))
    with pytest.raises(
        AgreementError, match=r"p only in the main process.*selects p .*nothing"
    ) as e:
        other.agree(Role.WORKER, config)
    assert os.uname().nodename in str(e.value)
    assert other.journal.entries[-1]["event"] == "disagreement"


def test_a_worker_with_one_more_is_stopped(world: World) -> None:
    """A patch that only a worker has makes its rank another."""
    config = a_config()
    a_session(world, disabled=("p",)).stamp(config)
    with pytest.raises(AgreementError, match="p only here"):
        world.session().agree(Role.WORKER, config)


def test_other_code_under_the_same_name_is_stopped(world: World) -> None:
    """Two nodes with different versions of a pack are told apart by the bytes of the body."""
    config = a_config()
    a_session(world).stamp(config)
    world.module("pack.patch_a", BODY + "# another\n")
    with pytest.raises(AgreementError, match="p has other code here"):
        world.session().agree(Role.WORKER, config)


def test_warn_lets_it_go_on(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """PATCHKIT_ON_FAILURE=warn makes it one line on stderr."""
    config = a_config()
    a_session(world).stamp(config)
    world.session(disabled=("p",), on_failure="warn").agree(Role.WORKER, config)
    assert "p only in the main process" in capsys.readouterr().err


def test_a_when_that_nobody_has_asked_is_open(world: World) -> None:
    """A worker may skip by `when` what main, which never runs it, could not ask."""
    config = a_config()
    rows = (row("p", "patch_a", REPLACE, roles="{Role.WORKER}", when="'when'"),)
    a_session(world, *rows).stamp(config)
    world.session(disabled=("p",)).agree(Role.WORKER, config)


def test_a_configuration_without_a_stamp_says_nothing(world: World) -> None:
    """Where the main process knows no patchkit, a worker cannot compare, and goes on."""
    a_session(world).agree(Role.WORKER, a_config())


@pytest.mark.parametrize("extra", [object(), None])
def test_a_place_for_the_stamp(world: World, extra: object) -> None:
    """None becomes a dict; an object of the platform's own is left alone."""
    config = SimpleNamespace(additional_config=extra)
    assert agreement.stamp(config, {Role.MAIN: {"p": "1"}}) is (extra is None)
    a_session(world).agree(Role.WORKER, config) if extra else None


def test_digests_are_equal_for_equal_sets_only() -> None:
    """Neither order nor an open `when` counts; a name or a fingerprint does."""
    one = {"a": "1", "b": "2"}
    assert agreement.digest(one) == agreement.digest({"b": "2?", "a": "1"})
    others: list[dict[str, str]] = [{}, {"a": "1"}, {"a": "1", "b": "3"}, {"a": "2", "b": "1"}]
    assert agreement.digest(one) not in [agreement.digest(other) for other in others]

"""A patch's own `verify`: asked once, when all is applied and a role is entered."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import row

from patchkit import Role
from patchkit.cli import main
from patchkit.errors import ApplyError, DeclarationError, VerifyError

if TYPE_CHECKING:
    from support.packages import World

world = packages.world

WRAP = "Wrap('up.mod:function', by='by')"
BODY = """
asked = []
def by(wrapped, instance, args, kwargs): return 'new'
def works():
    from up.mod import function
    asked.append(function())
    return ANSWER()
"""


@pytest.fixture
def session(world: World) -> Any:
    """Arms a session of a patch whose `verify` answers so."""

    def make(answer: str, **more: Any) -> Any:
        world.module("up.mod", "def function(): return 'old'\n")
        body = f"def ANSWER(): {answer}\n{BODY}"
        one = row("p", "patch_a", WRAP, roles="{Role.MAIN}", verify="'works'", **more)
        world.pack(one, patch_a=body)
        made = world.session()
        made.arm({Role.MAIN})
        return made

    return make


def test_it_is_asked_once(session: Any) -> None:
    """Not before it is applied; with the patch in effect; and its answer is told."""
    one = session("return True")
    importlib.import_module("up.mod")
    body = importlib.import_module("pack.patch_a")
    assert body.asked == []
    for _ in range(3):
        one.enter(Role.MAIN)
    assert body.asked == ["new"]
    (told,) = [entry for entry in one.journal.entries if entry["event"] == "verify"]
    assert (told["name"], told["answer"]) == ("p", True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("return 'too slow'", "too slow"),
        ("return None", "returned None, expected True or what is wrong"),
        ("return ''", "returned '', expected True"),
        ("raise ValueError('broken')", "broken"),
    ],
)
def test_a_reason_is_a_failure(session: Any, answer: str, words: str) -> None:
    """It stops the process, and is taken back; so is any other answer, and an exception."""
    one = session(answer)
    mod = importlib.import_module("up.mod")
    with pytest.raises(ApplyError, match=words) as caught:
        one.enter(Role.MAIN)
    assert isinstance(caught.value.__cause__, (VerifyError, ValueError))
    assert one.states["p"].status == "failed"
    assert mod.function() == "old"
    (told,) = [entry for entry in one.journal.entries if entry["event"] == "verify"]
    assert words in told["answer"]


def test_a_look_asks_what_was_applied_late(session: Any) -> None:
    """No role is entered any more after the last one."""
    one = session("return True")
    importlib.import_module("up.mod")
    one.lookout.look()
    assert importlib.import_module("pack.patch_a").asked == ["new"]


def test_not_required(session: Any) -> None:
    """The failure of such a patch is a warning."""
    one = session("return 'too slow'", required="False")
    importlib.import_module("up.mod")
    one.enter(Role.MAIN)
    assert one.states["p"].status == "failed"


def test_a_verify_needs_a_body(world: World) -> None:
    """There is no function to ask without one."""
    world.module("up.mod", "def function(): return 'old'\n")
    edit = "Edit('up.mod:function', old='old', new='new')"
    world.module("pack.other", "")
    world.pack(row("p", None, edit, roles="{Role.MAIN}", verify="'works'"))
    with pytest.raises(DeclarationError, match="body"):
        world.session()


@pytest.mark.processes
def test_status_tells_the_last_answer(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its age, in the list and in JSON."""
    world.module("up.mod", "def function(): return 'old'\n")
    one = row(
        "p", "patch_a", WRAP, roles="set(Role)", verify="'works'", required="False"
    )
    world.pack(one, patch_a=f"def ANSWER(): return 'too slow'\n{BODY}")
    code = (
        "import patchkit.auto as auto\nfrom patchkit import Role\nimport up.mod\n"
        "auto.session.enter(Role.MAIN)\n"
    )
    (world.folder / "script.py").write_text(code)
    assert world.run("script.py").returncode == 0
    main(["status", str(world.journal), "--verify"])
    shown = capsys.readouterr().out
    assert "too slow" in shown
    assert "s ago" in shown
    main(["status", str(world.journal), "--format", "json"])
    (process,) = json.loads(capsys.readouterr().out)["processes"]
    told = next(patch["verify"] for patch in process["patches"] if patch["name"] == "p")
    assert told["ok"] is False
    assert "too slow" in told["reason"]

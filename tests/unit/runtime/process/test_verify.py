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
    """Return a function that arms a session of a patch, whose `verify` runs these statements."""

    def make(answer: str, **more: Any) -> Any:
        world.module("up.mod", "def function(): return 'old'\n")
        body = f"def ANSWER(): {answer}\n{BODY}"
        fields = {"roles": "{Role.MAIN}", "verify": "'works'", **more}
        world.pack(row("p", "patch_a", WRAP, **fields), patch_a=body)
        made = world.session()
        made.arm({Role.MAIN})
        return made

    return make


def test_a_verify_is_asked_once(session: Any) -> None:
    """The first role entry after the apply asks `verify`, once, and writes its answer."""
    armed = session("return True")
    importlib.import_module("up.mod")
    body = importlib.import_module("pack.patch_a")
    assert body.asked == []
    for _ in range(3):
        armed.enter(Role.MAIN)
    assert body.asked == ["new"]
    (entry,) = [entry for entry in armed.journal.entries if entry["event"] == "verify"]
    assert (entry["name"], entry["answer"]) == ("p", True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("return 'too slow'", "too slow"),
        ("return None", "returned None, expected True or what is wrong"),
        ("return ''", "returned '', expected True"),
        ("raise ValueError('broken')", "broken"),
        ("raise SystemExit('broken')", "broken"),
    ],
)
def test_any_answer_but_true_is_a_failure(
    session: Any, answer: str, words: str
) -> None:
    """A reason, any other answer or an exception fails the patch, which is undone, and raises."""
    armed = session(answer)
    mod = importlib.import_module("up.mod")
    with pytest.raises(ApplyError, match=words) as caught:
        armed.enter(Role.MAIN)
    assert isinstance(caught.value.__cause__, (VerifyError, ValueError, SystemExit))
    assert armed.states["p"].status == "failed"
    assert mod.function() == "old"
    (entry,) = [entry for entry in armed.journal.entries if entry["event"] == "verify"]
    assert words in entry["answer"]


def test_who_interrupts_a_verify_is_heard(session: Any) -> None:
    """A KeyboardInterrupt is no answer: it goes on to who entered the role."""
    armed = session("raise KeyboardInterrupt")
    importlib.import_module("up.mod")
    with pytest.raises(KeyboardInterrupt):
        armed.enter(Role.MAIN)
    assert armed.states["p"].status == "applied"


def test_a_look_asks_the_verify_of_a_late_patch(session: Any) -> None:
    """A look asks the `verify` of a patch that was applied after the last role entry."""
    armed = session("return True")
    importlib.import_module("up.mod")
    armed.lookout.look()
    assert importlib.import_module("pack.patch_a").asked == ["new"]


def test_a_verify_that_fails_an_optional_patch(session: Any) -> None:
    """The role is entered without an error where the patch is not required."""
    armed = session("return 'too slow'", required="False")
    importlib.import_module("up.mod")
    armed.enter(Role.MAIN)
    assert armed.states["p"].status == "failed"


def test_a_verify_needs_a_body(world: World) -> None:
    """A row with a `verify` and no body is a DeclarationError."""
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
    """`status --verify` prints the last answer and its age, and the JSON format has it."""
    world.module("up.mod", "def function(): return 'old'\n")
    optional = row(
        "p", "patch_a", WRAP, roles="set(Role)", verify="'works'", required="False"
    )
    world.pack(optional, patch_a=f"def ANSWER(): return 'too slow'\n{BODY}")
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
    patches = {patch["name"]: patch for patch in process["patches"]}
    verify = patches["p"]["verify"]
    assert verify["ok"] is False
    assert "too slow" in verify["reason"]

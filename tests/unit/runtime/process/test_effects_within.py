"""What runs within a look at what was called, and who waits for that look."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import row

from patchkit import Role
from patchkit.runtime.process.effects import CALLED, Compilers, Effects
from patchkit.runtime.process.lookout import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.packages import World

    from patchkit.runtime.process.session import Session

world = packages.world


@pytest.fixture
def session(world: World) -> Session:
    """Apply a patch of `up.mod`, with a journal; another one waits for `up.late`."""
    rows = []
    for name in ("mod", "late"):
        world.module(f"up.{name}", "def function(): return 'old'\n")
        rows.append(row(name, "patch_a", f"Wrap('up.{name}:function', by='by')"))
    world.pack(*rows, patch_a="def by(wrapped, instance, args, kwargs): ...\n")
    made = world.session()
    made.journal.directory = str(world.journal)
    made.arm({Role.MAIN})
    __import__("up.mod")
    return made


def returns(function: Callable[[], object]) -> bool:
    """Whether a function returns, instead of waiting for ever."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()


@pytest.mark.parametrize("moment", ["_evidence", "_judge"])
def test_a_finalizer_imports_a_target_within_a_look(
    session: Session, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The look and the import go on, and what the finalizer calls is seen."""
    within = getattr(Effects, moment)

    def run(*arguments: Any) -> Any:
        monkeypatch.undo()
        answer = within(*arguments)
        __import__("up.late").late.function()
        return answer

    monkeypatch.setattr(Effects, moment, run)
    assert returns(session.lookout.effects.look)
    session.lookout.effects.look()
    words: dict[str, str] = {}
    for entry in session.journal.entries:
        if entry["event"] == "in-effect":
            words |= entry["patches"].get("late", {})
    assert words == {"up.late:function": CALLED}


def test_what_is_observed_is_read_where_nobody_looks(session: Session) -> None:
    """What comes and goes is not kept until the end, and what was called stays so."""
    effects = session.lookout.effects
    __import__("up.mod").mod.function()
    for _ in range(250):
        effects.observe()
        assert len(effects._observed) <= 101
    effects.look()
    assert session.journal.entries[-1]["patches"] == {
        "mod": {"up.mod:function": CALLED}
    }


def test_an_end_beside_a_look_that_hangs(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who ends the process goes on while the look of another thread waits for ever."""
    begun, over = threading.Event(), threading.Event()

    def wait(_: Compilers) -> set[int]:
        begun.set()
        over.wait()
        return set()

    monkeypatch.setattr(Compilers, "traced", wait)
    hanging = threading.Thread(target=session.lookout.effects.look, daemon=True)
    hanging.start()
    assert begun.wait(10)
    assert returns(session.lookout.write_last_entries)
    over.set()
    hanging.join(10)


def test_a_look_that_raises_does_not_end_the_thread() -> None:
    """A thread whose look at what was called raises goes on to look at everything."""
    looked = threading.Semaphore(0)
    looking = Verifier(looked.release, 0.001, lambda _: False, lambda: 1 / 0)
    looking.start()
    try:
        assert all(looked.acquire(timeout=10) for _ in range(2))
    finally:
        looking.stop()

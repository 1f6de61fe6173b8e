"""The law of blocks: within a block its patches act, once each, whatever other threads do."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import packages
from support.packages import World, row
from support.sampling import examples
from support.undoing import disarm

from patchkit import Role, applied
from patchkit.runtime.reach import arming

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.runtime.process.session import Session

world = packages.world

PATCHES = {
    "a": (Role.WORKER, ("f",)),
    "b": (Role.MAIN, ("f", "g")),
    "c": (Role.ENGINE_CORE, ("g", "h")),
}
"""Each patch with its role and the functions that it wraps; `h` is in a module of its own."""

HOMES = {"f": "up.one", "g": "up.one", "h": "up.two"}


class Block(NamedTuple):
    """What one thread does: hold patches, do this within, and enter a role at the end."""

    names: frozenset[str]
    inner: tuple[Block, ...]
    role: Role | None


BLOCKS = st.deferred(
    lambda: st.builds(
        Block,
        st.frozensets(st.sampled_from(sorted(PATCHES)), min_size=1),
        st.lists(BLOCKS, max_size=1).map(tuple),
        st.none() | st.sampled_from(list(Role)),
    )
)
PROGRAMS = st.lists(st.lists(BLOCKS, min_size=1, max_size=2), min_size=2, max_size=3)


@pytest.fixture(autouse=True)
def _threads_that_switch_often(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Write a pack with PATCHES, and have threads switch as often as can be."""
    source = "def {0}(): return []\n"
    world.module("up.one", source.format("f") + source.format("g"))
    world.module("up.two", source.format("h"))
    rows = []
    bodies = {}
    for name, (role, functions) in PATCHES.items():
        targets = [f"{HOMES[function]}:{function}" for function in functions]
        changes = [f"Wrap('{target}', by='by')" for target in targets]
        rows.append(row(name, f"patch_{name}", *changes, roles=f"{{Role('{role}')}}"))
        bodies[f"patch_{name}"] = f"def by(w, i, a, k): return [{name!r}, *w()]\n"
    world.pack(*rows, **bodies)
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=1.0")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def seen(function: str) -> list[str]:
    """The patches that act on a function, by calling it."""
    module: Any = importlib.import_module(HOMES[function])
    answer: list[str] = getattr(module, function)()
    return answer


def expected(function: str, active: frozenset[str] | set[str]) -> list[str]:
    """Of active patches, those that wrap a function, the outermost first; knows no patchkit."""
    outermost_first = sorted(active, reverse=True)
    return [name for name in outermost_first if function in PATCHES[name][1]]


class Runner:
    """Runs a program, a thread for each part, and notes what contradicts the law."""

    def __init__(self, session: Session | None) -> None:
        self.session = session
        self.wrong: list[object] = []
        self.entered: set[Role] = set()

    def run(self, program: list[list[Block]]) -> None:
        barrier = threading.Barrier(len(program))
        threads = [
            threading.Thread(target=self._work, args=(blocks, barrier))
            for blocks in program
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads), "deadlock"

    def _work(self, blocks: list[Block], barrier: threading.Barrier) -> None:
        try:
            barrier.wait(20)
            for block in blocks:
                self._do(block, frozenset())
        except BaseException as error:
            self.wrong.append(repr(error))

    def _do(self, block: Block, outer: frozenset[str]) -> None:
        held = outer | block.names
        with applied(*sorted(block.names)):
            self._look(held)
            for inner in block.inner:
                self._do(inner, held)
                self._look(held)
            if self.session is not None and block.role is not None:
                self.session.enter(block.role)
                self.entered.add(block.role)
                self._look(held | self._of_roles({block.role}))

    def _look(self, held: frozenset[str]) -> None:
        for function in HOMES:
            answer = seen(function)
            lacks = [name for name in expected(function, held) if name not in answer]
            if lacks or answer != expected(function, set(answer)):
                self.wrong.append((function, sorted(held), answer))

    def _of_roles(self, roles: set[Role]) -> frozenset[str]:
        return frozenset(name for name, (role, _) in PATCHES.items() if role in roles)

    def stays(self) -> frozenset[str]:
        """The patches that are active when all blocks are over."""
        if self.session is None:
            return frozenset()
        return self._of_roles(self.entered | {Role.MAIN})


LAW = settings(
    max_examples=examples(few=8, many=25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)


@given(program=PROGRAMS, is_armed=st.booleans())
@LAW
def test_threads_enter_and_leave_blocks(
    world: World, program: Any, is_armed: bool
) -> None:
    """What a thread holds acts in it, once and in order, until it leaves; then it is as it was.

    In an armed process what its roles have stays, also where a role is entered within a block.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arming, "_state", arming._ProcessState())
        session = None
        if is_armed:
            session = world.session()
            session.arm(frozenset({Role.MAIN}))
            arming._state.session = session
            arming._state.is_armed = True
        runner = Runner(session)
        try:
            runner.run(program)
            assert runner.wrong == []
            for function in HOMES:
                assert seen(function) == expected(function, runner.stays())
        finally:
            if session is not None:
                disarm(session)
        assert [seen(function) for function in HOMES] == [[], [], []]

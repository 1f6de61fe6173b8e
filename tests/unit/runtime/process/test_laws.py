"""The law of apply and undo: upstream is at any time what the patches that are on say."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from support import law_world
from support.packages import World
from support.sampling import examples

if TYPE_CHECKING:
    from collections.abc import Collection

SHAPES = st.integers(1, 4).flatmap(
    lambda functions: st.builds(
        law_world.Shape,
        functions=st.just(functions),
        depth=st.integers(0, 3),
        users=st.lists(
            st.lists(st.integers(0, functions - 1), unique=True, max_size=3).map(tuple),
            min_size=1,
            max_size=3,
        ).map(tuple),
    )
)


class Applying(RuleBasedStateMachine):
    """Applies and undoes random sets of patches while modules come in, also from threads."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.before = set(sys.modules)
        sys.path.insert(0, str(self.folder))
        self.on: set[str] = set()
        self.users: dict[int, Any] = {}

    @initialize(shape=SHAPES, late=st.booleans(), data=st.data())
    def begin(self, shape: law_world.Shape, late: bool, data: st.DataObject) -> None:
        """Write a package and its patches, arm before or after it is imported."""
        self.shape = shape
        world = World(self.folder)
        world.module("up.base", law_world.base_source(shape))
        world.module("up.again", law_world.RE_EXPORT)
        for number, taken in enumerate(shape.users):
            world.module(f"up.user{number}", law_world.user_source(taken))
        world.pack(*law_world.rows(shape), patch_base=law_world.body_source(shape))
        self.names = list(law_world.patches(shape))
        self.session = world.session()
        if not late:
            self.session.arm(frozenset(), lent=True)
        self.base = importlib.import_module("up.base")
        self.pristine = law_world.picture(self.base)
        if late:
            self._import(data.draw(st.integers(0, len(shape.users) - 1)))
            self.session.arm(frozenset(), lent=True)
            self._hold(self.names)

    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        """Apply some patches, whether they are applied already or not."""
        names = data.draw(
            st.lists(st.sampled_from(self.names), max_size=4, unique=True)
        )
        self._hold(names)

    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        """Undo some patches, whether they are applied or not."""
        names = data.draw(
            st.lists(st.sampled_from(self.names), max_size=4, unique=True)
        )
        self._let_go(names)

    @rule(data=st.data(), undo=st.booleans())
    @precondition(lambda self: len(self.users) < len(self.shape.users))
    def change_while_a_thread_imports(self, data: st.DataObject, undo: bool) -> None:
        """Apply or undo some patches while a thread imports a module that copies the names."""
        numbers = range(len(self.shape.users))
        not_imported = [number for number in numbers if number not in self.users]
        number = data.draw(st.sampled_from(not_imported))
        thread = threading.Thread(target=self._import, args=(number,))
        thread.start()
        try:
            if undo:
                self.undo(data)
            else:
                self.apply(data)
        finally:
            thread.join(20)
        assert number in self.users

    @rule()
    @precondition(lambda self: self.on)
    def undo_everything(self) -> None:
        """Undo all patches: the very same objects are back, whatever came and went before."""
        self._let_go(self.names)
        assert law_world.picture(self.base) == self.pristine

    @invariant()
    def functions_answer(self) -> None:
        """Functions answer as the applied patches say, under every name that leads to them."""
        if not hasattr(self, "base"):
            return
        for number in range(self.shape.functions):
            expected = law_world.function_answer(number, self.on)
            assert getattr(self.base, f"f{number}")() == expected
            for user, module in self.users.items():
                if number in self.shape.users[user]:
                    assert getattr(module, f"f{number}")() == expected
                    assert getattr(module, f"other{number}")() == expected
                    assert getattr(module.Holder(), f"held{number}")() == expected

    @invariant()
    def classes_answer(self) -> None:
        """Methods answer as the applied patches say, through inheritance and `super()`."""
        if not hasattr(self, "base"):
            return
        for level in range(self.shape.depth):
            for kind in "mcsp":
                expected = law_world.method_answer(kind, level, self.on)
                assert law_world.method_seen(self.base, kind, level) == expected

    @invariant()
    def others_answer(self) -> None:
        """Constants, items, classes, new names and fields are as the applied patches say."""
        if hasattr(self, "base"):
            assert law_world.others_seen(self.base) == law_world.others_answer(self.on)
            for module in self.users.values():
                expected = law_world.others_answer(self.on)["class"]
                assert module.Thing().tell() == expected

    def _hold(self, names: Collection[str]) -> None:
        """Begin a block for those that are not on; no names would mean all."""
        if new := [name for name in names if name not in self.on]:
            self.session.blocks.hold(new)
            self.on |= set(new)

    def _let_go(self, names: Collection[str]) -> None:
        """End the blocks of those that are on."""
        old = [name for name in names if name in self.on]
        self.session.blocks.let_go(old)
        self.on -= set(old)

    def _import(self, number: int) -> None:
        """Import a module that copies names of the base."""
        self.users[number] = importlib.import_module(f"up.user{number}")

    def teardown(self) -> None:
        """Disarm, compare with the beginning, and forget the package."""
        try:
            if hasattr(self, "session"):
                self._let_go(self.names)
                self.session.stand_down()
            if hasattr(self, "base"):
                assert law_world.picture(self.base) == self.pristine
                for number, module in self.users.items():
                    self._assert_original(number, module)
        finally:
            sys.path.remove(str(self.folder))
            for name in set(sys.modules) - self.before:
                if name.partition(".")[0] in {"up", "pack"}:
                    del sys.modules[name]
            shutil.rmtree(self.folder)

    def _assert_original(self, number: int, module: Any) -> None:
        """Assert that every copy in a module is the original again."""
        assert module.Thing is self.base.Thing
        for function in self.shape.users[number]:
            original = getattr(self.base, f"f{function}")
            assert getattr(module, f"f{function}") is original
            assert getattr(module, f"other{function}") is original
            assert vars(module.Holder)[f"held{function}"] is original


TestApplying = Applying.TestCase
TestApplying.settings = settings(
    max_examples=examples(few=4, many=25),
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

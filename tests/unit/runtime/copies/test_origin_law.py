"""The law of origins: a name goes with the name it was bound from, whatever objects they share.

Random modules bind names from one another's, and objects that have nothing to do with each other;
random patches come and go. The oracle is the list of what was bound from what, as it was written.
"""

from __future__ import annotations

import contextlib
import importlib
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.packages import World, row
from support.sampling import examples
from support.undoing import apply, disarm, undo

from patchkit import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLES = [Role.MAIN, Role.ENGINE_CORE]
SINGLETONS = (
    "...",
    "up.shared.atom",
    "logging.getLogger('up')",
    "re.compile('a')",
    "up.shared.fun",
)
SHARED = "atom = object()\ndef fun(*args, **kwargs): return 'fun'\nclass Cls: ..."
HEAD = "import logging, re, sys, up.shared\n"
BODY = "from up.shared import atom, fun, Cls\nfrom pack.stubs import around, stub\n"
STUBS = """
def stub(*args, **kwargs): return 'stub'
def around(wrapped, instance, args, kwargs): return 'around'
"""
# What binds a name so that no code tells where it is from.
UNTOLD = (
    "globals()['{new}'] = {old}",
    "{new}, _ = {old}, 1",
    "{new} = {old} if len(__name__) else None",
)
# How a name is bound from another: of the same module, or of one before it.
HERE = (
    "{new} = {old}",
    "{new}: object = {old}",
    *UNTOLD,
)
DECLARED = (
    "def _bind():\n    global {new}\n    from up.m{at} import {old} as {new}\n_bind()"
)
THERE = (
    "from up.m{at} import {old} as {new}",
    "import up.m{at}\n{new} = up.m{at}.{old}",
    "import up.m{at} as other\n{new} = other.{old}",
    "try:\n    from up.m{at} import {old} as {new}\nexcept ImportError:\n    {new} = None",
    DECLARED,
    "from up.m{at} import {old}\n{new} = {old}\ndel {old}",
    "from up.m{at} import *\n{new} = {old}",
)
IN_CLASS = "class {outer}:\n    kept = {old}"


@dataclass(frozen=True)
class Name:
    """A name that a module binds.

    Args:
        module: the module's number.
        name: the name; `K….kept` in a class.
        code: what binds it.
        parent: the name that it is bound from; None where it is from no other.
    """

    module: int
    name: str
    code: str
    parent: Name | None = None

    @property
    def target(self) -> str:
        """What rows call the name."""
        return f"up.m{self.module}:{self.name}"

    @property
    def made(self) -> str:
        """The expression, or the function's name, that made the object that it began with."""
        if self.parent:
            return self.parent.made
        return self.code.partition(" = ")[2] or self.name

    @property
    def is_untold(self) -> bool:
        """Whether no code tells what it is bound from."""
        starts = ("globals", f"{self.name}, _", "def _bind")
        return self.code.startswith(starts) or " if len" in self.code

    @property
    def line(self) -> list[Name]:
        """The name, what it is bound from, what that is bound from, and so on."""
        return [self, *(self.parent.line if self.parent else ())]

    def look(self) -> Any:
        """Return what the name holds now."""
        values = vars(sys.modules[f"up.m{self.module}"])
        outer, _, inner = self.name.partition(".")
        return vars(values[outer])[inner] if inner else values[outer]


@st.composite
def programs(draw: st.DrawFn) -> list[Name]:
    """Names of two to five modules; later ones are bound from earlier ones, or from elsewhere."""
    names: list[Name] = []
    for module in range(draw(st.integers(2, 5))):
        for number in range(draw(st.integers(1, 4))):
            names.append(draw(bound(module, f"n{module}_{number}", tuple(names))))
    return names


@st.composite
def bound(draw: st.DrawFn, module: int, new: str, names: tuple[Name, ...]) -> Name:
    """Draw what binds one name: a definition, a shared object, or one of the names before it."""
    parent = draw(st.sampled_from((None, *names))) if names else None
    if parent is None:
        definition = f"def {new}(*args, **kwargs): return {new!r}"
        shared = [f"{new} = {expression}" for expression in SINGLETONS]
        return Name(module, new, draw(st.sampled_from((definition, *shared))))
    outer = f"K{new}"
    if parent.module != module:
        code = draw(st.sampled_from(THERE)) if "." not in parent.name else THERE[1]
        return Name(
            module, new, code.format(new=new, old=parent.name, at=parent.module), parent
        )
    if draw(st.booleans()):
        code = IN_CLASS.format(outer=outer, old=parent.name)
        return Name(module, f"{outer}.kept", code, parent)
    code = draw(st.sampled_from(HERE))
    return Name(module, new, code.format(new=new, old=parent.name), parent)


@dataclass(frozen=True)
class Patched:
    """A row.

    Args:
        at: what it changes.
        by: the body's object that takes its place.
        roles: for which roles.
    """

    at: Name
    by: str
    roles: frozenset[Role]


@st.composite
def patches(draw: st.DrawFn, names: list[Name]) -> list[Patched]:
    """One to four rows; their objects may be upstream's own, and may be shared."""
    rows = []
    for number in range(draw(st.integers(1, 4))):
        at = draw(st.sampled_from(names))
        earlier = [name for name in names if name.module < at.module]
        others = [
            name.name
            for name in earlier
            if "." not in name.name and name.made != at.made
        ]
        shared = [name for name in ("fun", "atom") if f"up.shared.{name}" != at.made]
        by = draw(st.sampled_from(("stub", "Cls", f"own{number}", *shared, *others)))
        if at.code.startswith(f"def {at.name}("):
            by = draw(st.sampled_from(("around", "stub", f"own{number}")))
        roles = draw(st.sets(st.sampled_from(ROLES), min_size=1))
        rows.append(Patched(at, by, frozenset(roles)))
    return rows


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("import", "apply", "undo", "become")), st.integers(0, 9)
    ),
    max_size=8,
)


@settings(max_examples=examples(few=15, many=40), deadline=None)
@given(names=programs(), early=st.integers(0, 5), steps=STEPS, data=st.data())
def test_names_go_with_what_they_were_bound_from(
    names: list[Name], early: int, steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    """A name holds what it was bound from holds, after every step and after all was undone."""
    folder = Path(tempfile.mkdtemp())
    with importable(folder):
        Trial(World(folder), names, data.draw(patches(names))).run(early, steps)
    shutil.rmtree(folder)


@contextlib.contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let the modules of a folder be imported, and forget them at the end."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in {"up", "pack"}:
                del sys.modules[name]


class Trial:
    """One program with its patches.

    Args:
        world: where they are written.
        names: the program.
        rows: the patches, in the order in which they lie on one another.
    """

    def __init__(self, world: World, names: list[Name], rows: list[Patched]) -> None:
        self.names, self.rows = names, dict(enumerate(rows))
        self.count = 1 + max(name.module for name in names)
        world.module("up.shared", SHARED)
        for module in range(self.count):
            own = [name for name in names if name.module == module]
            code = [name.code for name in own]
            if module % 2:
                exported = [name.name for name in own if "." not in name.name]
                code.append(f"__all__ = {exported}")
            world.module(f"up.m{module}", HEAD + "\n".join(code))
        bodies = {f"patch_{number}": self._body(number) for number in self.rows}
        world.pack(*(self._row(number) for number in self.rows), stubs=STUBS, **bodies)
        self.session = world.session()
        self.held_before: dict[Name, list[Any]] = {}

    def _body(self, number: int) -> str:
        by, at = self.rows[number].by, self.rows[number].at
        imports = [
            f"from up.m{name.module} import {name.name}"
            for name in self.names
            if name.name == by and name.module < at.module
        ]
        return "\n".join([BODY, f"def own{number}(*args, **kwargs): ...", *imports])

    def _row(self, number: int) -> str:
        patched = self.rows[number]
        change = f"Replace({patched.at.target!r}, by={patched.by!r}, unrelated=True)"
        if patched.by == "around":
            change = f"Wrap({patched.at.target!r}, by='around')"
        roles = ", ".join(f"Role.{role.name}" for role in patched.roles)
        return row(f"p{number}", f"patch_{number}", change, roles=f"{{{roles}}}")

    def run(self, early: int, steps: list[tuple[str, int]]) -> None:
        """Arm after some modules were imported, and do the steps."""
        for module in range(min(early, self.count)):
            self._import(module)
        self.session.arm([Role.MAIN])
        self.role, self.undone = Role.MAIN, set[int]()
        try:
            self._check()
            for step, number in steps:
                getattr(self, f"_{step}")(number)
                self._check()
        finally:
            disarm(self.session)
        self._check_originals()

    def _import(self, number: int) -> None:
        importlib.import_module(f"up.m{number % self.count}")

    def _apply(self, number: int) -> None:
        apply(self.session, [f"p{number % len(self.rows)}"])
        self.undone.discard(number % len(self.rows))

    def _undo(self, number: int) -> None:
        undo(self.session, [f"p{number % len(self.rows)}"])
        self.undone.add(number % len(self.rows))

    def _become(self, number: int) -> None:
        self.role = ROLES[number % len(ROLES)]
        self.session.become([self.role])
        if self.undone:  # which it has asked again, as what is skipped
            undo(self.session, [f"p{number}" for number in sorted(self.undone)])

    # -- the oracle --------------------------------------------------------------------------------

    def _check(self) -> None:
        for name in self._there():
            value = name.look()
            own = self._replacement(name)
            if getattr(own, "__name__", "") == "around":
                assert value() == "around", name
            elif own is not None:
                # Methods have a twin.
                assert value is own or value.__code__ is own.__code__, name
            elif name.parent is not None:
                self._check_bound(name, name.parent)
            else:
                assert self._is_original(name, value), name
        for name in self._there():
            self.held_before.setdefault(name, []).append(name.look())

    def _check_bound(self, name: Name, parent: Name) -> None:
        """Compare a name with what it was bound from, or all that this held if no code tells."""
        value = name.look()
        if not name.is_untold:
            assert value is parent.look(), name
            return
        known = []
        for ancestor in parent.line:
            known += [ancestor.look(), *self.held_before.get(ancestor, ())]
        is_known = any(value is held for held in known)
        assert self._is_original(name, value) or is_known, name

    def _check_originals(self) -> None:
        for name in self._there():
            if name.parent is not None:
                self._check_bound(name, name.parent)
            else:
                assert self._is_original(name, name.look()), name

    def _is_original(self, name: Name, value: Any) -> bool:
        """Tell whether a value is what the first name in a name's line began with."""
        while name.parent is not None:
            name = name.parent
        if name.code.startswith("def "):
            return getattr(value, "__name__", "") == name.name and value() == name.name
        shared = vars(sys.modules[f"up.m{name.module}"])
        return value is eval(name.code.partition(" = ")[2], shared)

    def _there(self) -> list[Name]:
        return [name for name in self.names if f"up.m{name.module}" in sys.modules]

    def _replacement(self, name: Name) -> Any:
        """Return the object of the last row that is on; of one that wraps if there is any."""
        replacement = None
        for number, patched in self.rows.items():
            is_on = number not in self.undone and self.role in patched.roles
            if not is_on or patched.at != name:
                continue
            last = vars(sys.modules[f"pack.patch_{number}"])[patched.by]
            if getattr(replacement, "__name__", "") != "around":
                replacement = last
        return replacement


def test_a_name_that_was_patched_while_it_held_a_replacement(tmp_path: Path) -> None:
    """What was bound from such a name follows it again once its own patch is undone, though it
    gets back an object that is older than both replacements.
    """
    both = frozenset(ROLES)
    first = Name(0, "n0_0", "n0_0 = ...")
    second = Name(1, "n1_0", "from up.m0 import n0_0 as n1_0", first)
    third = Name(1, "Kn1_1.kept", IN_CLASS.format(outer="Kn1_1", old="n1_0"), second)
    rows = [Patched(first, "stub", both), Patched(third, "stub", both)]
    rows.append(Patched(second, "Cls", frozenset({Role.MAIN})))
    steps = [("become", 1), ("become", 0), ("undo", 1)]
    with importable(tmp_path):
        Trial(World(tmp_path), [first, second, third], rows).run(2, steps)


def test_a_copy_stays_with_its_name_where_two_rows_put_one_object(
    tmp_path: Path,
) -> None:
    """Undone is the row of the name that this one is bound from: the copy is the nearer one's."""
    first = Name(0, "n0_0", "n0_0 = ...")
    second = Name(0, "n0_1", "n0_1 = n0_0", first)
    copy = Name(1, "n1_0", "from up.m0 import n0_1 as n1_0", second)
    rows = [
        Patched(second, "Cls", frozenset({Role.ENGINE_CORE})),
        Patched(first, "Cls", frozenset(ROLES)),
    ]
    with importable(tmp_path):
        trial = Trial(World(tmp_path), [first, second, copy], rows)
        trial.run(early=2, steps=[("undo", 1), ("become", 1)])

"""The law of creation: a class that is patched equals one that was written with the member."""

from __future__ import annotations

import sys
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampling import examples

from patchkit import Add, Decorate, Replace, Wrap
from runtime.changes.fields.groups import Upstream

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class Member(NamedTuple):
    """A member of a class: its name, its decorator there, and the statement that makes it."""

    name: str
    decorator: str
    statement: str

    def written(self, tag: str, *, plain: bool = False) -> str:
        """Its source: in a class, or as the plain object of a body."""
        is_marker = "abstractmethod" in self.decorator
        decorator = "" if plain and not is_marker else self.decorator
        return decorator + self.statement.replace("TAG", tag).replace("NAME", self.name)


ABSTRACT = "@abc.abstractmethod\n"
SELF = "def NAME(self, *args): return ('TAG', args)"
CLS = "def NAME(cls, *args): return ('TAG', cls.__name__, args)"
KINDS = {
    "plain": Member("f", "", SELF),
    "static": Member("f", "@staticmethod\n", "def NAME(*args): return ('TAG', args)"),
    "class": Member("f", "@classmethod\n", CLS),
    "property": Member("f", "@property\n", SELF),
    "cached": Member("f", "@functools.cached_property\n", SELF),
    "abstract": Member("f", ABSTRACT, SELF),
    "async": Member("f", "", "async def NAME(self, *args): return ('TAG', args)"),
    "generator": Member("f", "", "def NAME(self, *args): yield ('TAG', args)"),
    "awaitable": Member(
        "f", "@types.coroutine\n", "def NAME(self, *args): yield ('TAG', args)"
    ),
    "descriptor": Member("f", "", "NAME = Named('TAG')"),
    "init_subclass": Member("__init_subclass__", "", "def NAME(cls): cls.told = 'TAG'"),
    "class_getitem": Member("__class_getitem__", "", CLS),
    "new": Member(
        "__new__",
        "",
        "def NAME(cls):\n    made = object.__new__(cls)\n    made.told = 'TAG'\n    return made",
    ),
    "post_init": Member("__post_init__", "", "def NAME(self): self.told = 'TAG'"),
    "eq": Member("__eq__", "", "def NAME(self, other): return 'TAG'"),
}
IMPORTS = """
import abc, dataclasses, functools, types
class Named:
    def __init__(self, tag): self.tag = tag
    def __set_name__(self, owner, name): self.owner, self.name = owner.__name__, name
    def __get__(self, instance, owner): return (self.tag, self.owner, self.name)
"""
BY = """
import functools
def by(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
def around(target):
    return functools.wraps(target)(lambda *args, **kwargs: target(*args, **kwargs))
"""
AROUND = {Wrap: "by", Decorate: "around"}
"""The body's objects that answer as the target does."""


class Shape(NamedTuple):
    """How a class is written: its decorator, whether its base is abstract, who has the member."""

    is_dataclass: bool
    base: str
    holder: str

    def written(self, members: dict[str, str]) -> str:
        """The source of a base, the class and two subclasses, with members by class."""
        decorator = "@dataclasses.dataclass(eq=False)\n" if self.is_dataclass else ""
        fields = "x: int = 1" if self.is_dataclass else "x = 1"
        parts = [IMPORTS, f"class Base({self.base}):"]
        parts += [indent(members.get("Base", "pass"), "    ")]
        parts += [f"{decorator}class C(Base):\n    {fields}"]
        parts += [indent(members.get("C", ""), "    ")]
        parts += ["class Sub(C): pass", f"{decorator}class Second(C):\n    {fields}"]
        return "\n".join(parts) + "\n"


@st.composite
def cases(draw: st.DrawFn) -> tuple[type, Member, Member, Shape]:
    """A change, the original member, the new one, and how the class is written."""
    change = draw(st.sampled_from([Replace, Add, Wrap, Decorate]))
    kind = draw(st.sampled_from(sorted(KINDS)))
    holder = draw(st.sampled_from(["C", "Base"]))
    member = new = KINDS[kind]
    if kind in {"plain", "abstract"}:
        new = KINDS[draw(st.sampled_from(["plain", "abstract"]))]
    if kind == "new" and change is Add:
        change = Replace  # of a class without, it is refused
    if kind == "descriptor" and change in AROUND:
        change = Replace  # it cannot be called
    if change in AROUND:
        holder = "C"
        new = member
    if change is Add:
        holder = ""
    is_dataclass = draw(st.booleans())
    base = draw(st.sampled_from(["abc.ABC", ""]))
    return change, member, new, Shape(is_dataclass, base, holder)


@settings(max_examples=examples(few=50, many=400))
@given(case=cases())
def test_a_patched_class_equals_one_that_was_written_so(
    case: tuple[type, Member, Member, Shape],
) -> None:
    """Its objects, lists and results, by instance, class and subclass; undo restores all of it."""
    change, member, new, shape = case
    old = {shape.holder: member.written("old")}
    tag = "old" if change in AROUND else "new"
    target = f"upstream:C.{member.name}"
    # A plain function becomes what it replaces; nothing says what an added one is to be.
    plain = change is not Add and "types" not in new.decorator
    body = IMPORTS + BY + new.written("new", plain=plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "upstream", None)
        written = Upstream(shape.written({**old, "C": new.written(tag)}))
        expected = seen(written.module, member.name)
        bench = Upstream(shape.written(old), body)
        classes = [
            getattr(bench.module, name) for name in ("Base", "C", "Sub", "Second")
        ]
        before = [dict(vars(cls)) for cls in classes]
        unpatched = seen(bench.module, member.name)
        by = AROUND.get(change, new.name)
        undo = bench.apply(change(target, by=by))
        assert seen(bench.module, member.name) == expected
        undo()
        assert seen(bench.module, member.name) == unpatched
        for cls, attributes in zip(classes, before, strict=True):
            now = dict(vars(cls))
            assert now.keys() == attributes.keys()
            assert all(now[name] is attributes[name] for name in now)


def seen(upstream: ModuleType, name: str) -> dict[str, Any]:
    """All that somebody can tell of the class, its subclasses and a new one."""
    cls: Any = upstream.C
    found: dict[str, Any] = {"stored": type(vars(cls).get(name)).__name__}
    later = tried(lambda: type("Later", (cls,), {}))
    for label, owner in (
        ("C", cls),
        ("Sub", upstream.Sub),
        ("Second", upstream.Second),
        ("later", later),
    ):
        found[label] = [
            sorted(getattr(owner, "__abstractmethods__", ())),
            tried(lambda owner=owner: getattr(owner, name)(3)),
            tried(lambda owner=owner: getattr(owner(), name)(3)),
            tried(lambda owner=owner: getattr(owner(), name)),
            tried(lambda owner=owner: owner[3]),
            tried(lambda owner=owner: owner() == 3),
            tried(lambda owner=owner: type(hash(owner()))),
            tried(lambda owner=owner: vars(owner())),
        ]
    found["told"] = vars(later).get("told")
    return found


def tried(question: Callable[[], Any]) -> Any:
    """What a call returns or raises, in a form that can be compared."""
    try:
        answer = question()
    except Exception as error:
        return type(error).__name__
    if hasattr(answer, "send"):
        return (hasattr(answer, "__await__"), *driven(answer))
    if isinstance(answer, (type, tuple, dict, str, bool)):
        return answer
    return type(answer).__name__


def driven(steps: Any) -> list[Any]:
    """Each value of a generator or coroutine, then its result."""
    values = []
    try:
        while True:
            values.append(steps.send(None))
    except StopIteration as ended:
        return [*values, ended.value]

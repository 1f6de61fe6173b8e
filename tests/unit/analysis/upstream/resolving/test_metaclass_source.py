"""What the code of a metaclass sets on classes, read from its `__new__` and `__init__`."""

from __future__ import annotations

import ast

import pytest

from analysis.upstream.memory import resolve
from patchkit.analysis.upstream.resolving.metaclass_source import settings_of

NEW = "def __new__(mcs, name, bases, space):\n "
MAKES = "return super().__new__(mcs, name, bases, space)"


def read(source: str) -> list[str] | None:
    """Return the names that a method sets, sorted; None if it may set others."""
    method = ast.parse(source).body[0]
    assert isinstance(method, ast.FunctionDef)
    settings = settings_of(method)
    is_open = settings.is_open or settings.passing
    return None if is_open else sorted(settings.names)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("space['a'] = 1", ["a"]),
        ("del space['a']", ["a"]),
        ("space.setdefault('a', 1); space.pop('b', None)", ["a", "b"]),
        ("space.update(a=1, b=2)", ["a", "b"]),
        ("for one in 'a', 'b': space[one] = space.get(one)", ["a", "b"]),
        ("if 'a' in space: print(space['a'])", []),
        ("made = dict(space)", []),
        ("space[f()] = 1", None),
        ("for one in f(): space[one] = 1", None),
        ("space.update(more)", None),
        ("space.update(**more)", None),
        ("space = f(space)", None),
        ("f(space)", None),
        ("bases = (Other, *bases)", None),
    ],
)
def test_what_is_set_in_the_namespace(body: str, names: list[str] | None) -> None:
    """Spelled names are listed; a name that is computed, or another namespace, leaves all open."""
    assert read(f"{NEW}{body}\n {MAKES}") == names


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("cls.a = cls.b", ["a"]),
        ("del cls.a", ["a"]),
        ("setattr(cls, 'a', 1)", ["a"]),
        ("REGISTRY[name] = cls", []),
        ("REGISTRY.append(cls)", []),
        ("super().__init__(name, bases, space)", []),
        ("setattr(cls, f(), 1)", None),
        ("cls.build()", None),
        ("f(cls)", None),
        ("other = cls", None),
    ],
)
def test_what_is_set_on_the_class(body: str, names: list[str] | None) -> None:
    """It is the same with the class itself, in `__init__` and below `super().__new__`."""
    assert read(f"def __init__(cls, name, bases, space):\n {body}") == names
    made = MAKES.replace("return", "cls =")
    assert read(f"{NEW}{made}\n {body}\n return cls") == names


@pytest.mark.parametrize(
    "source",
    [
        "def __new__(mcs, *args): return super().__new__(mcs, *args)",
        f"{NEW}return super().__new__(mcs, name, bases, {{}})",
        f"{NEW}return super().__new__(mcs, name, bases[:1], space)",
        f"{NEW}{MAKES.replace('return', 'cls =')}\n return f(cls)",
        f"{NEW}return Other",
    ],
)
def test_a_class_that_is_made_otherwise_is_open(source: str) -> None:
    """Only a class with the namespace of its body has the attributes of its body."""
    assert read(source) is None


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("kept", "present"),
        ("set", "undecidable"),
        ("gone", "undecidable"),
        ("replaced", "present"),
        ("nothing", "absent"),
    ],
)
def test_other_attributes_are_as_the_body_has_them(name: str, state: str) -> None:
    """What the metaclass does not name is decided by the class."""
    source = (
        f"class M(type):\n {NEW} space['set'] = 1\n  space['replaced'] = 2\n"
        f"  space.pop('gone', None)\n  {MAKES}\n"
        "class C(metaclass=M):\n kept = replaced = gone = 1\n"
    )
    assert resolve(source, f"C.{name}").state == state

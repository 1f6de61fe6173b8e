"""Names that a function computes and sets on a class, compared with the class that Python makes."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from analysis.upstream.memory import resolve
from analysis.upstream.resolving.real import RealPackage

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
FACTS = ("real", "zero")
SOME = ["any"]

def as_name(fact):
    return "is_%s" % fact

def any_name(fact):
    return fact

def facts():
    return FACTS

class Base:
    def __init_subclass__(cls):
{body}

class C(Base):
    kept = 1
    def method(self, size): ...
    def is_own(self): ...
"""


def package(folder: Path, patch: pytest.MonkeyPatch, body: str) -> RealPackage:
    """Write and import a package whose hook has some statements."""
    return RealPackage(folder, patch, a=PROGRAM.format(body=indent(body, " " * 8)))


@pytest.mark.parametrize(
    "body",
    [
        "for fact in FACTS:\n    setattr(cls, 'is_%s' % fact, 1)",
        "for fact in FACTS:\n    setattr(cls, f'is_{fact}', 1)",
        "for fact in FACTS:\n    setattr(cls, 'is_' + fact, 1)",
        "for fact in FACTS:\n    setattr(cls, 'is_{}'.format(fact), 1)",
        "for fact in facts():\n    setattr(cls, as_name(fact), 1)",
        "for fact in facts():\n    name = as_name(fact)\n    setattr(cls, name, 1)",
        "for name in ('is_real', 'is_zero'):\n    setattr(cls, name, 1)",
    ],
)
def test_other_names_than_those_computed_are_decided(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text in the name tells which may be set; a method of such a name may be replaced."""
    up = package(tmp_path, monkeypatch, body)
    assert up.has("a", "C.is_real")
    assert up.resolve("a", "C.is_real").state == "undecidable"
    assert up.resolve("a", "C.nothing").state == "absent"
    assert up.resolve("a", "C.method").is_sure


@pytest.mark.parametrize(
    "body",
    [
        "for fact in FACTS:\n    setattr(cls, fact + '', 1)",
        "for fact in FACTS:\n    setattr(cls, any_name(fact), 1)",
        "for fact in SOME + ['real']:\n    setattr(cls, fact, 1)",
        "fact = 'is_x'\nfact = facts()[0]\nsetattr(cls, fact, 1)",
        "as_name = any_name\nfor fact in FACTS:\n    setattr(cls, as_name(fact), 1)",
    ],
)
def test_a_name_without_a_text_may_be_any(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is told of it, as it is set by code that is not followed."""
    up = package(tmp_path, monkeypatch, body)
    assert up.has("a", "C.real")
    assert up.resolve("a", "C.real").state == "undecidable"


@pytest.mark.parametrize(
    "loop",
    [
        "for name, value in list(cls.__dict__.items()):",
        "for name in dict(vars(cls)):",
    ],
)
def test_names_of_the_class_itself_are_replaced_and_none_is_added(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `setattr` makes of its methods, the class has no more names than before."""
    body = f"{loop}\n    if name == 'method':\n        setattr(cls, name, print)"
    up = package(tmp_path, monkeypatch, body)
    assert up.resolve("a", "C.nothing").state == "absent"
    assert up.resolve("a", "C.method").state == "present"
    assert not up.resolve("a", "C.method").is_sure


def test_a_loop_over_another_class_may_add_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`C` gets what the other class has, so that nothing is told to be absent."""
    body = (
        "for name in vars(Base):\n"
        "    if not name.endswith('__'):\n"
        "        setattr(cls, name, 1)"
    )
    up = package(tmp_path, monkeypatch, body)
    assert up.resolve("a", "C.nothing").state == "undecidable"


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ("cls.table = {}", "present"),
        ("fill(cls)", "present"),
        ("if cls.kept:\n    cls.table = {}", "undecidable"),
        ("if not cls.kept:\n    return\ncls.table = {}", "undecidable"),
        ("cls = object()\ncls.table = {}", "undecidable"),
        ("cls.table = {}\ndel cls.table", "undecidable"),
    ],
)
def test_what_is_set_in_any_case_is_present(
    body: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that the hook always runs sets it, one below a test may not."""
    fill = "def fill(cls):\n    cls.table = {}\n"
    body = body.replace("cls = object()", "cls = type('X', (), {})")
    source = fill + PROGRAM.format(body=indent(body, " " * 8))
    up = RealPackage(tmp_path, monkeypatch, a=source)
    found = up.resolve("a", "C.table")
    assert found.state == state, found
    assert not found.is_sure
    if state == "present":
        assert up.has("a", "C.table")


def test_the_hook_of_a_further_base_may_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the nearest hook runs for certain."""
    source = (
        "class A:\n def __init_subclass__(cls):\n  cls.table = 1\n"
        "class B:\n def __init_subclass__(cls): ...\n"
        "class C(B, A): ...\n"
    )
    up = RealPackage(tmp_path, monkeypatch, a=source)
    assert not up.has("a", "C.table")
    assert up.resolve("a", "C.table").state == "undecidable"


def test_what_a_hook_may_set_is_present_where_a_base_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class has one or the other."""
    source = (
        "class A:\n table = 1\n def __init_subclass__(cls):\n"
        "  if cls.__name__ == 'D': cls.table = cls.other = 2\n"
        "class C(A): ...\n"
    )
    up = RealPackage(tmp_path, monkeypatch, a=source)
    found = up.resolve("a", "C.table")
    assert found.state == "present"
    assert not found.is_sure
    assert up.resolve("a", "C.other").state == "undecidable"


def test_what_a_hook_sets_on_an_object_that_it_makes_is_not_of_the_class() -> None:
    """The names are computed, but the class gets those of the other call alone."""
    source = (
        "class Made: ...\n"
        "class B:\n"
        "    def __init_subclass__(cls):\n"
        "        made = {0}\n"
        "        for name in NAMES:\n"
        "            setattr(made, name, 1)\n"
        "        setattr(cls, f'set_{{name}}', made)\n"
        "class C(B): ...\n"
    )
    assert resolve(source.format("Made()"), "C.nothing").state == "absent"
    assert resolve(source.format("Made()"), "C.set_x").state == "undecidable"
    for value in ("cls", "make()", "Made() or cls", "Made()\n        made = cls"):
        assert resolve(source.format(value), "C.nothing").state == "undecidable"

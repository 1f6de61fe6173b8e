"""Classes that a metaclass passes to functions of the release, which are read as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.upstream.resolving.real import RealPackage

if TYPE_CHECKING:
    from pathlib import Path

HELPERS = """
def reads(cls):
    return [name for name in dir(cls) if name == cls.__name__]

def sets(other, cls):
    cls.given = other

def removes(cls):
    if "kept" in cls.__dict__:
        del cls.kept

def returns(cls):
    return cls

def passes(cls):
    sets(1, cls)

def sets_any(cls):
    for name in reads.__code__.co_names:
        setattr(cls, name, "")  # one of the names may be `__name__`

class Registry:
    def __init__(self):
        self.classes = {}

    def register(self, cls):
        self.classes[cls.__name__] = cls

    def mark(self, cls):
        cls.marked = self

registry = Registry()
"""
STATES = {
    "reads(cls)": {"given": "absent", "kept": "present"},
    "count = len(reads(cls))": {"given": "absent"},
    "sets(1, cls)": {"given": "undecidable", "other": "absent"},
    "removes(cls)": {"kept": "undecidable", "other": "absent"},
    "returns(cls)": {"other": "absent"},
    "returns(cls).other = 1": {"other": "undecidable"},
    "same = returns(cls); same.other = 1": {"other": "undecidable"},
    "passes(cls)": {"given": "undecidable", "other": "absent"},
    "sets_any(cls)": {"dir": "undecidable", "kept": "undecidable"},
    "registry.register(cls)": {"other": "absent", "kept": "present"},
    "registry.mark(cls)": {"marked": "undecidable", "other": "absent"},
    "helpers = [returns]; helpers[0](cls)": {"other": "undecidable"},
    "reads = returns; reads(cls).other = 1": {"other": "undecidable"},
}
"""What is known of a class below a metaclass whose `__init__` has the statement."""


@pytest.mark.parametrize("statement", STATES)
def test_a_class_is_followed_into_functions(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a function sets is open, all else is decided, and as it is once imported."""
    package = RealPackage(
        tmp_path,
        monkeypatch,
        helpers=HELPERS,
        a="from up.helpers import passes, reads, registry, removes, returns, sets, sets_any\n"
        "class M(type):\n def __init__(cls, *args):\n"
        f"  {statement}\n"
        "class C(metaclass=M):\n kept = 1\n",
    )
    for name, state in STATES[statement].items():
        found = package.resolve("a", f"C.{name}")
        assert found.state == state, found
        if state != "undecidable":
            assert package.has("a", f"C.{name}") == (state == "present")


def test_what_a_metaclass_sets_is_not_that_of_a_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands on each class itself, before what the class inherits; special names, too."""
    package = RealPackage(
        tmp_path,
        monkeypatch,
        a="class M(type):\n def __init__(cls, *args):\n"
        "  cls.__new__ = lambda cls: None\n  cls.made = len\n"
        "class B:\n def __new__(cls, size): ...\n def made(self, size): ...\n"
        " def kept(self, size): ...\n"
        "class C(B, metaclass=M): ...\n",
    )
    for name in ("__new__", "made"):
        found = package.resolve("a", f"C.{name}")
        assert found.state == "present"
        assert not found.is_sure
    assert package.resolve("a", "C.kept").is_sure
    assert package.resolve("a", "B.made").is_sure

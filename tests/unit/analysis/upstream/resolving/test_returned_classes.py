"""Classes that a function of the release is passed, and that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.upstream.resolving.real import RealPackage

if TYPE_CHECKING:
    from pathlib import Path

HELPERS = """
def adds(cls, value=None):
    cls.added = value
    return cls

def extends(cls):
    cls.extended = 1
    return cls

def other(cls):
    return int

def any_of(*args, **options):
    if options:
        return int
    return args[0]
"""


@pytest.mark.parametrize(
    ("statement", "name", "state"),
    [
        ("C = adds(C)", "kept", "present"),
        ("C = adds(C)", "added", "undecidable"),
        ("C = adds(C, value=2)", "nothing", "absent"),
        ("C = adds(adds(C), 3)", "kept", "present"),
        ("C = extends(adds(C))", "extended", "undecidable"),
        ("C = extends(adds(C))", "added", "undecidable"),
        ("C = extends(adds(C))", "nothing", "absent"),
        ("C = other(C)", "kept", "undecidable"),
        ("C = other(adds(C))", "kept", "undecidable"),
        ("C = any_of(C, a=1)", "kept", "undecidable"),
    ],
)
def test_a_class_that_is_returned_keeps_its_attributes(
    statement: str,
    name: str,
    state: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its name stands for the class that was passed, with what the functions set on it."""
    package = RealPackage(
        tmp_path,
        monkeypatch,
        helpers=HELPERS,
        a="from up.helpers import adds, any_of, extends, other\n"
        f"class C:\n kept = 1\n{statement}\n",
    )
    found = package.resolve("a", f"C.{name}")
    assert found.state == state, found
    if state != "undecidable":
        assert package.has("a", f"C.{name}") == (state == "present")


def test_the_constructor_is_that_of_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the name is called with is known, as none of the functions sets `__init__`."""
    package = RealPackage(
        tmp_path,
        monkeypatch,
        a="def adds(cls):\n cls.added = 1\n return cls\n"
        "class C:\n def __init__(self, size, *, depth=0): ...\nC = adds(C)\n",
    )
    found = package.resolve("a", "C")
    assert str(found.signature) == "(size, *, depth=…)"

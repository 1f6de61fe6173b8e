"""What a module of a pile reads after it has set it: itself, and by what it calls."""

from __future__ import annotations

import ast

import pytest

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.piles.pile_reader import PileReader

HEAD = """\
from up import lib


def reads():
    return lib.C.size


def reads_by_another():
    return reads()


def imports():
    from up.lib import g
    return g


def makes():
    def later():
        return lib.C.size
    return later


def makes_and_calls():
    def now():
        return lib.C.size
    return now()


def sets():
    old = lib.C.size
    lib.C.size = 6
    return old


class Own:
    def __init__(self):
        self.size = lib.C.size

    def later(self):
        return lib.C.size


"""
SIZE = "up.lib.C.size"
READ = {
    "x = reads()": True,
    "lib.x = reads_by_another()": True,
    "x = makes()": False,
    "x = makes_and_calls()": True,
    "x = Own()": True,
    "x = reads": False,
    "@reads\ndef f(): ...": True,
    "def f(a=lib.C.size): ...": True,
    "class Kept:\n    size = lib.C.size": True,
    "class Kept:\n    size = lib.C().size": True,
    "class Kept:\n    def size(self):\n        return lib.C.size": False,
    "x = lib.C()": True,
    "lib.C()": True,
    "x = lib.made()": True,
    "lib.made()": False,
    "lib.f = lib.made(lambda: 1)": False,
    "lib.f = kept(lib.made())": True,
    "x = other.made()": False,
}


def refused(text: str) -> set[str]:
    """Return what is set, and refused as it is read again."""
    text = HEAD + text
    module = ModuleTree("pile", "pile.py", False, ast.parse(text), text.encode())
    reader = PileReader(module)
    reader.read()
    names = set[str]()
    for placement in reader.placements:
        if "reads it again" in placement.reason:
            names.update(placement.dotted_names)
    return names


@pytest.mark.parametrize("text", READ)
def test_what_is_read_below(text: str) -> None:
    """A function that is only defined runs later, when all is set."""
    assert (SIZE in refused(f"lib.C.size = 5\n{text}\n")) is READ[text]
    assert refused(f"{text}\nlib.C.size = 5\n") == set()


def test_what_a_function_reads_before_it_sets() -> None:
    """In one call, the order of its lines counts."""
    assert refused("sets()\n") == set()
    assert refused("sets()\nx = reads()\n") == {SIZE}


def test_what_is_imported_again() -> None:
    """An import reads, too, at the top or in a function that is called."""
    assert refused("lib.g = 1\nfrom up.lib import g\n") == {"up.lib.g"}
    assert refused("lib.g = 1\nx = imports()\n") == {"up.lib.g"}

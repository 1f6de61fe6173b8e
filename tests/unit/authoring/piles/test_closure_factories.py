"""A function of a pile becomes the factories of what it sets, or a row calls it as it is."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from authoring.piles.pile_of_up import (
    A_CLOSURE,
    PROBE,
    World,
    both,
    here,
    kinds,
    observed,
    world,
)
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.piles.closure_factories import closure_factories
from patchkit.authoring.piles.pile_reader import PileReader

__all__ = ["here", "world"]

F = "def f(a, b=0):\n    return original(a, b)\n\nlib.f = f\n"
REFUSED = {
    "a counter that two share": (
        "count = 0\ndef f():\n    nonlocal count\n    count += 1\nlib.f = f\n"
    ),
    "a table": f"original = {{'f': lib.f}}['f']\n{F}",
    "a name that is bound twice": f"original = lib.g\noriginal = lib.f\n{F}",
    "a call": f"original = lib.f\n{F}prepare()\n",
    "a condition": f"original = lib.f\nif original:\n    {indent(F, '    ').lstrip()}",
    "a decorator of its own": f"original = lib.f\n@cached\n{F}",
    "two targets at once": "lib.f = lib.g = lambda *args: args\n",
    "a target twice": "lib.f = lambda: 1\nlib.f = lambda: 2\n",
    "what it has set itself": "lib.f = lambda: 1\ng = lib.f\nlib.g = g\n",
    "an import of what it sets": (
        "from up.lib import g\nlib.g = lambda: 1\nlib.f = lambda: g()\n"
    ),
    "a function that comes below": "lib.f = f\ndef f(): ...\n",
    "what it returns": f"original = lib.f\n{F}return f\n",
    "a loop": "for name in 'fg':\n    setattr(lib, name, name)\n",
    "a state of the function": "def f(): ...\nf.count = 0\nlib.f = f\n",
}


def factories(body: str, *targets: str) -> dict[str, str]:
    """The factories of what a function sets, as text."""
    text = "from up import lib\n\n\ndef register():\n" + indent(dedent(body), "    ")
    module = ModuleTree(
        "pile.start", "pile/start.py", False, ast.parse(text), text.encode()
    )
    reader = PileReader(module)
    reader.read()
    made = closure_factories(reader, "register", targets)
    return {
        target: factory.text("make", "pile.start:register", target)
        for target, factory in made.items()
    }


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_factory(form: str) -> None:
    """It does more than to set functions around originals."""
    body = REFUSED[form]
    targets = [f"up.lib.{name}" for name in "fg" if f"lib.{name} = " in body]
    assert factories(body, *targets) == {}


def test_a_factory_has_what_its_function_needs() -> None:
    """The original is its parameter; comments stay."""
    body = """
    first = lib.f
    second = lib.g

    def f(a, b=0):
        # as before
        return first(a, b)

    lib.f = f
    lib.g = lambda: second()
    """
    made = factories(body, "up.lib.f", "up.lib.g")
    lines = made["up.lib.f"].strip().splitlines()
    assert lines[0] == "def make(first):"
    assert lines[2:] == [
        "    def f(a, b=0):",
        "        # as before",
        "        return first(a, b)",
        "    return f",
    ]
    # Python 3.10 writes `lambda : second()`.
    plain = made["up.lib.g"].replace("lambda :", "lambda:")
    assert plain.endswith("    return lambda: second()\n")


def test_what_was_observed_is_all_that_it_sets() -> None:
    """Else one of both is not understood."""
    assert factories("lib.f = lambda: 1\n", "up.lib.f", "up.lib.g") == {}
    assert factories("lib.f = lambda: 1\nlib.g = lambda: 1\n", "up.lib.f") == {}


CLOSURES = {
    "a closure": A_CLOSURE,
    "a module that it imports itself": """
        def register():
            from up import user

            user.use = lambda: "new"
        """,
    "two closures and a constant": """
        import functools
        import logging
        from up import lib

        logger = logging.getLogger(__name__)

        def own():
            return "own"

        def register():
            "Change what it can."
            original = lib.f
            other = lib.C.m
            word = "new"

            def shout(text):
                return (word, text)

            @functools.wraps(original)
            def f(a, b=0):
                return shout(original(a, b))  # by another function of this one

            def m(self, a, b=0):
                return shout(other(self, a, b))

            lib.f = f
            lib.C.m = m
            lib.C.size = 12
            setattr(lib.C, "more", lambda self: shout("more"))
            lib.g = own
            logger.info("done")
        """,
}
KINDS_OF_CLOSURES = {
    "a closure": ["Decorate"],
    "a module that it imports itself": ["Decorate"],
    "two closures and a constant": [
        "Add",
        "Decorate",
        "Decorate",
        "Replace",
        "Replace",
    ],
}


@pytest.mark.processes
@pytest.mark.parametrize("form", CLOSURES)
def test_a_function_becomes_the_factory_of_each_closure(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """Each target has a change of its own, and the function itself is kept off."""
    report = observed(here, capsys, {"start": CLOSURES[form]})
    assert report["left"] == []
    (changes,) = kinds(report).values()
    assert sorted(kind for kind, _ in changes) == KINDS_OF_CLOSURES[form]
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


@pytest.mark.processes
def test_a_factory_imports_from_the_pile(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the full name: the factory is in the pack."""
    start = """
        def register():
            from up import lib
            from .words import WORD

            lib.g = lambda: WORD
        """
    report = observed(here, capsys, {"start": start, "words": "WORD = 'new'\n"})
    assert report["observed"]["depths"] == {"up.lib:g": "decorated"}
    theirs, ours = both(here)
    assert ours == theirs


@pytest.mark.processes
@pytest.mark.parametrize(("owner", "kind"), [("E", "Decorate"), ("F", "Replace")])
def test_a_method_that_a_base_has_too(
    here: World, capsys: pytest.CaptureFixture[str], owner: str, kind: str
) -> None:
    """A class that has none of its own has no original to decorate."""
    more = """
        from up.lib import C

        class E(C):
            def m(self, a, b=0):
                return "e"

        class F(C):
            pass
        """
    here.module("up.more", dedent(more))
    start = f"""
        from up import more

        def register():
            original = more.{owner}.m
            more.{owner}.m = lambda self, a, b=0: ("new", original(self, a, b))
        """
    report = observed(here, capsys, {"start": start})
    (changes,) = kinds(report).values()
    assert [changed for changed, _ in changes] == [kind]

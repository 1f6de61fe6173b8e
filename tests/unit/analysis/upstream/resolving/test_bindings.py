"""What a name may be bound to at the end of a module."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import Memory
from patchkit.analysis.upstream.reading.files import Files
from patchkit.analysis.upstream.resolving.deciding import Platform
from patchkit.analysis.upstream.resolving.module_tree import Modules
from patchkit.analysis.upstream.resolving.release_lookup import ReleaseLookup

LINUX_311 = Platform((3, 11), "linux")


def bindings(text: str, platform: Platform = LINUX_311) -> list[str]:
    """Return the lines that may bind `x` at the end; `-` for a case in which it is not bound."""
    modules = Modules(Files(Memory({"up.": text})))
    tree = modules.get("up")
    assert tree is not None
    assert not tree.fault
    lines: list[str] = []
    for case in ReleaseLookup(modules, platform).binding_cases(tree, "x"):
        if case.binding is None:
            lines.append("-")
        else:
            lines.append(str(case.binding.node.lineno))
    return lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1", ["1"]),
        ("y = 1", ["-"]),
        ("x = 1\nx = 2", ["2"]),
        ("x = 1\ndel x", ["-"]),
        ("def x(): ...", ["1"]),
        ("class x: ...", ["1"]),
        ("def f():\n x = 1", ["-"]),
        ("class C:\n x = 1", ["-"]),
        ("x: int", ["-"]),
        ("x: int = 1", ["1"]),
        ("import x", ["1"]),
        ("import x.y", ["1"]),
        ("import y as x", ["1"]),
        ("from y import z as x", ["1"]),
        ("(a, x), b = (1, 2), 3", ["1"]),
        ("a, *x = range(3)", ["1"]),
        ("with open('f') as x: pass", ["1"]),
        ("if a and (x := 1): pass", ["-", "1"]),
        # conditions
        ("if a:\n x = 1", ["2", "-"]),
        ("if a:\n x = 1\nelse:\n x = 2", ["2", "4"]),
        ("x = 0\nif a:\n x = 1", ["3", "1"]),
        ("if a:\n x = 1\nelif b:\n x = 2\nelse:\n raise E", ["2", "4"]),
        ("if a:\n raise E\nx = 1", ["3"]),
        ("import typing\nif typing.TYPE_CHECKING:\n x = 1", ["-"]),
        ("if TYPE_CHECKING:\n x = 1\nelse:\n x = 2", ["4"]),
        ("if not TYPE_CHECKING:\n x = 1", ["2"]),
        ("if TYPE_CHECKING or a:\n x = 1", ["2", "-"]),
        ("if a and TYPE_CHECKING:\n x = 1", ["-"]),
        ("if __name__ == '__main__':\n x = 1", ["-"]),
        ("if True:\n x = 1", ["2"]),
        ("if sys.version_info >= (3, 11):\n x = 1\nelse:\n x = 2", ["2"]),
        ("if sys.version_info < (3, 11):\n x = 1\nelse:\n x = 2", ["4"]),
        ("if sys.version_info[:2] == (3, 11):\n x = 1", ["2"]),
        ("if sys.version_info.minor > 11:\n x = 1", ["-"]),
        ("if sys.platform == 'win32':\n x = 1", ["-"]),
        ("if sys.platform.startswith('lin'):\n x = 1", ["2"]),
        # try
        ("try:\n import x\nexcept ImportError:\n x = None", ["2", "4"]),
        ("try:\n import x\nexcept ImportError:\n pass", ["2", "-"]),
        ("try:\n import x\nexcept ImportError:\n raise E", ["2"]),
        ("try:\n import y\nexcept ImportError:\n x = 1\nelse:\n x = 2", ["6", "4"]),
        ("try:\n import y\nfinally:\n x = 1", ["4"]),
        ("try:\n x = 1\n import y\nexcept ImportError:\n pass", ["2"]),
        ("try:\n import y\n x = f()\nexcept ImportError:\n x = 0", ["3", "5"]),
        ("try:\n import y\n def x(): ...\nexcept ImportError:\n pass", ["3", "-"]),
        ("try: pass\nexcept E as x: pass", ["-"]),
        ("with contextlib.suppress(ImportError):\n import x", ["2", "-"]),
        # loops and cases
        ("for x in (1, 2): pass", ["1", "-"]),
        ("for x in xs: pass", ["1", "-"]),
        ("for y in ys:\n pass\nelse:\n x = 1", ["4"]),
        ("for y in ys:\n if y: break\nelse:\n x = 1", ["-", "4"]),
        ("while a:\n x = 1", ["-", "1"]),
        ("match a:\n case 1:\n  x = 1\n case _:\n  x = 2", ["-", "1"]),
    ],
)
def test_follows_statements(text: str, lines: list[str]) -> None:
    """Each statement binds what it binds when it runs, on every path that may be taken."""
    assert bindings(text) == lines


def test_follows_another_python() -> None:
    """Conditions on the version and the platform are judged for the one that is asked about."""
    text = "if sys.version_info >= (3, 12) and sys.platform == 'darwin':\n x = 1"
    assert bindings(text) == ["-"]
    assert bindings(text, Platform((3, 13), "darwin")) == ["2"]


def test_later_statements_modify_a_binding() -> None:
    """`+=`, items that are set and setters belong to the binding, and do not replace it."""
    modules = Modules(
        Files(Memory({"up.": "x = []\nx += [1]\nx.append(2)\nx[0] = 3\nx.sort()"}))
    )
    tree = modules.get("up")
    assert tree is not None
    (case,) = ReleaseLookup(modules, LINUX_311).binding_cases(tree, "x")
    assert case.binding is not None
    assert [modifier.lineno for modifier in case.binding.modifiers] == [2, 3, 4]


def test_conditions_say_where_branches_differ() -> None:
    """A condition belongs to what only one branch binds, with its text."""
    modules = Modules(
        Files(Memory({"up.": "if a > 1:\n x = 1\nelse:\n x = 2\ny = 1\nif b: z = 1"}))
    )
    tree = modules.get("up")
    assert tree is not None
    lookup = ReleaseLookup(modules, LINUX_311)
    body, orelse = lookup.binding_cases(tree, "x")
    assert [condition.text for condition in body.conditions] == ["a > 1"]
    assert [condition.text for condition in orelse.conditions] == ["not (a > 1)"]
    assert [case.conditions for case in lookup.binding_cases(tree, "y")] == [()]

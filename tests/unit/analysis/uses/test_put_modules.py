"""Which modules of upstream a package puts into `sys.modules` by a function."""

from __future__ import annotations

import ast

import pytest

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.uses.files import uses_of
from patchkit.analysis.uses.put_modules import PutModules

SETDEFAULT = "def put(name, module):\n    sys.modules.setdefault(name, module)\n"


def tree_of(name: str, text: str) -> ModuleTree:
    """A file of the package."""
    return ModuleTree(name, f"{name}.py", False, ast.parse(text), text.encode())


@pytest.mark.parametrize(
    ("definition", "call", "is_put"),
    [
        (SETDEFAULT, "put('up.a', mine)", True),
        (SETDEFAULT, "loader.put('up.a', mine)", True),
        (SETDEFAULT, "NAME = 'up.a'\nput(NAME, mine)", True),
        (SETDEFAULT, "put(module=mine, name='up.a')", True),
        (SETDEFAULT, "put(mine, 'up.a')", False),
        (SETDEFAULT, "put('up', mine)", False),
        (SETDEFAULT, "put('upper.a', mine)", False),
        (SETDEFAULT, "other('up.a', mine)", False),
        (
            "def put(module, /, name):\n    sys.modules[name] = module\n",
            "put(mine, 'up.a')",
            True,
        ),
        (
            "class Loader:\n    def put(self, name):\n        sys.modules[name] = self\n",
            "Loader().put('up.a')",
            False,
        ),
        (
            "class Loader:\n    def put(self, name):\n        sys.modules[name] = self\n",
            "loader.put('up.a')",
            True,
        ),
        ("def put(name):\n    return sys.modules[name]\n", "put('up.a')", False),
        ("def put(name):\n    sys.modules[other] = name\n", "put('up.a')", False),
        ("", "sys.modules.setdefault('up.a', mine)", True),
        ("", "table.setdefault('up.a', mine)", False),
    ],
)
def test_a_function_that_puts_what_it_is_passed(
    definition: str, call: str, *, is_put: bool
) -> None:
    """The function and its calls may lie in different files, in any order."""
    files = [tree_of("own.calls", call), tree_of("own.loader", definition)]
    for trees in (files, files[::-1]):
        put = PutModules(["up"])
        for tree in trees:
            put.read(tree)
        assert put.names() == ({"up.a:"} if is_put else set())


def test_what_is_read_of_such_a_module_is_guarded() -> None:
    """It is there, whatever the release has; its package is not."""
    files = [
        tree_of("own.calls", "put('up.a', mine)\nfrom up.a import X\nfrom up import Y"),
        tree_of("own.loader", SETDEFAULT),
    ]
    uses = {str(use.target): use.guarded for use in uses_of(files, ["up"])}
    assert uses == {"up.a:X": True, "up:Y": False}

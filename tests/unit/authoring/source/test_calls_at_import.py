"""What a module does as it is imported."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.source.calls_at_import import acts_at_import

ACTS = {
    "exec('x = 1')": True,
    "if True:\n    change()": True,
    "@patch(lib)\ndef f(): ...": True,
    "@patch\nclass A: ...": True,
    "class A(Patch): ...": True,
    "class A(metaclass=Patch): ...": True,
    "'A text.'": False,
    "import up\nx = up.f\n": False,
    "def f():\n    change()": False,
    "class A: ...": False,
}


@pytest.mark.parametrize("text", ACTS)
def test_whether_it_may_change_others(text: str) -> None:
    """By a call that is a statement, by decorators, or by what classes derive from."""
    assert acts_at_import(ast.parse(text)) is ACTS[text]

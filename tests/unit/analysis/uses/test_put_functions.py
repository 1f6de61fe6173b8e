"""Which functions a file puts in the place of others."""

from __future__ import annotations

import ast

import pytest

from patchkit.analysis.uses.put_functions import functions_put
from patchkit.analysis.uses.statements import block_nodes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(a): ...\nup.g = f", ["(a)"]),
        ("async def f(a): ...\nup.C.g = other.h = f", ["(a)", "(a)"]),
        ("def outer():\n    def f(a, b=1): ...\n    up.C.g = f", ["(a, b=…)"]),
        ("def f(a): ...\nsetattr(up.C, name, f)", ["(a)"]),
        ("def f(a): ...\nclass C:\n    def f(self): ...\nup.g = f", ["(a)"]),
        ("def f(a): ...\nf = wrap(f)\nup.g = f", []),
        ("def f(a): ...\nif x:\n    def f(a, b): ...\nup.g = f", []),
        ("def f(a): ...\ndef put(f):\n    up.g = f", []),
        ("def f(a): ...\nfrom other import f\nup.g = f", []),
        ("@wraps(up.g)\ndef f(a): ...\nup.g = f", []),
        ("class f: ...\nup.g = f", []),
        ("def f(a): ...\nup.g = wrap(f)", []),
        ("up.g = f", []),
    ],
)
def test_only_a_name_of_one_function_is_followed(
    text: str, expected: list[str]
) -> None:
    """Signatures of what is assigned, or set by `setattr`; of names bound twice, none is known."""
    put = functions_put(block_nodes(ast.parse(text)))
    assert [str(signature) for signature in put.values()] == expected

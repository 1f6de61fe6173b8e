from __future__ import annotations

import ast

import pytest

from patchkit.analysis.upstream.moves.catalog import Likeness

BODY = """
def {name}(self, ranks, device):
    for rank in ranks:
        if rank.is_ready(device):
            self.adjusted[rank.number] = rank.adjust(device, ranks)
    return sorted(self.adjusted.values())
"""
OTHER = """
def {name}(self, path):
    with open(path) as file:
        return [line.strip() for line in file]
"""


@pytest.mark.parametrize(
    ("source", "other_source", "least", "most"),
    [
        ("def a(x): return x + 1", "def b(x): return x + 1", 1, 1),
        ("def a(x): return x + 1", "def a(x):\n 'Doc.'\n return x + 1", 1, 1),
        ("def a(x): return x + 1", "@cache\ndef a(x): return x + 1", 1, 1),
        ("class A(B):\n x = f()", "@final\nclass C(B):\n x = f()", 1, 1),
        (
            BODY.format(name="a"),
            BODY.format(name="a").replace("sorted", "list"),
            0.7,
            0.99,
        ),
        (BODY.format(name="a"), OTHER.format(name="a"), 0, 0.3),
    ],
)
def test_likeness_counts_neither_names_nor_decorators_nor_docstrings(
    source: str, other_source: str, least: float, most: float
) -> None:
    """Sources that differ only in these are alike by 1; each other edit lowers the likeness."""
    node = ast.parse(source.strip()).body[0]
    other_node = ast.parse(other_source.strip()).body[0]
    likeness = Likeness([node]).to(Likeness([other_node]))
    assert least <= likeness <= most


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("def a(self, one, two=2, *, three): ...", 0, 2),
        ("def a(self): raise NotImplementedError", 1, 19),
        ("def a(self): return self.x", 1, 19),
        (BODY.format(name="a"), 35, 200),
        (OTHER.format(name="a"), 35, 100),
    ],
)
def test_the_size_of_a_function_is_that_of_its_body(
    text: str, least: int, most: int
) -> None:
    """The size of a function counts its body, and not its parameters."""
    size = Likeness(ast.parse(text.strip()).body).size
    assert least <= size <= most

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
    ("one", "other", "least", "most"),
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
def test_likeness_goes_from_none_to_the_same(
    one: str, other: str, least: float, most: float
) -> None:
    """The name does not count, nor do decorators and docstrings; each edit lowers it."""
    nodes = [ast.parse(text.strip()).body[0] for text in (one, other)]
    assert least <= Likeness([nodes[0]]).to(Likeness([nodes[1]])) <= most


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
    """Parameters make no body larger."""
    assert least <= Likeness(ast.parse(text.strip()).body).size <= most

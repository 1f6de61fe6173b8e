"""Names that mean something else in a pack than in the pile's module."""

from __future__ import annotations

import ast

import pytest

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.piles.moved_names import moved_names
from patchkit.authoring.piles.pile_reader import PileReader

USES = {
    "data = open(__file__)": ["__file__"],
    "def f():\n    return __package__, __name__": ["__package__", "__name__"],
    "logger = logging.getLogger(__name__)": [],
    "logger = init_logger(__name__)": [],
    "this = sys.modules[__name__]": [],
    "if __name__ == '__main__':\n    print(__file__)": [],
    "if __name__ != '__main__':\n    pass": ["__name__"],
    "if __name__.startswith('pile'):\n    pass": ["__name__"],
}


@pytest.mark.parametrize("text", USES)
def test_what_a_module_asks_of_itself(text: str) -> None:
    """The name of a logger, and of the module itself, may be any."""
    module = ModuleTree("pile", "pile.py", False, ast.parse(text), text.encode())
    reader = PileReader(module)
    assert [node.id for node in moved_names(reader)] == USES[text]

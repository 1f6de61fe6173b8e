"""Names that mean something else in a pack than in the pile's module."""

from __future__ import annotations

import ast

import pytest

from authoring.piles.pile_of_up import PROBE, ROWS, World, adopt, here, kinds, world
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.piles.moved_names import moved_names
from patchkit.authoring.piles.pile_reader import PileReader

__all__ = ["here", "world"]

USES = {
    "data = open(__file__)": ["__file__"],
    "def f():\n    return __package__, __name__": ["__package__", "__name__"],
    "logger = logging.getLogger(__name__)": [],
    "logger = init_logger(__name__)": [],
    "this = sys.modules[__name__]": [],
    "path = sys.modules[__name__].__file__": ["__name__"],
    "path = sys.modules['pile'].__file__": [],
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


DATA = """
'''Reads what lies beside it.'''
from __future__ import annotations
import os
from pathlib import Path
from up import lib

HERE = Path(__file__).parent
FIRST = HERE.joinpath("data.txt").read_text()


def g():
    with open(os.path.join(os.path.dirname(__file__), "data.txt")) as file:
        return f"{FIRST}{file.read()}{Path(__file__).name}"


lib.g = g
"""


@pytest.mark.processes
@pytest.mark.parametrize("module", ["pile.patches.deep", "pile.patches", "pile"])
def test_a_body_finds_the_files_beside_the_pile_s_module(
    here: World, capsys: pytest.CaptureFixture[str], module: str
) -> None:
    """Without the import of the pile."""
    for package in ("pile", "pile.patches"):
        here.module(f"{package}.__init__", "")
    name = module if module.endswith("deep") else f"{module}.__init__"
    here.module(name, DATA)
    file = here.folder.joinpath(*module.split("."))
    folder = file if file.is_dir() else file.parent
    (folder / "data.txt").write_text("told")
    report = adopt(here, capsys, {}, "--no-observe")
    reasons = [left["reason"] for left in report["left"]]
    assert not any("the pack's own module" in reason for reason in reasons)
    of_pile = here.answer(f"import {module}\n{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == of_pile
    assert of_pile[2].startswith("toldtold")


def test_a_condition_that_asks_for_the_file_is_listed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The body asks it in the place of the module that imports the code."""
    start = "import os\nHERE = os.path.dirname(__file__)\n"
    here.module(
        "pile.__init__", f"{start}if os.path.exists(HERE):\n    import pile.patch_a\n"
    )
    text = "from up.lib import C\nC.new = 1\n"
    report = adopt(here, capsys, {"patch_a": text}, "--no-observe")
    assert list(kinds(report)) == ["a"]
    assert [left["code"] for left in report["left"]] == [
        "HERE = os.path.dirname(__file__)"
    ]
    assert "there it is that of the body" in report["left"][0]["reason"]

"""What bodies import of the pile, where its outermost package patches upstream itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.piles.pile_of_up import PROBE, ROWS, World, adopt, here, kinds, world

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]

pytestmark = pytest.mark.processes

WRAP = """
from up import lib

original = lib.f


def f(a, b=0):
    return ("new", *original(a, b))


lib.f = f
"""
INSIDE = """
def apply():
    from up import lib

    original = lib.f

    def f(a, b=0):
        return ("new", *original(a, b))

    lib.f = f


apply()
"""
BODY = """
from up import lib
{}


def m(self, a, b=0):
    return {}("new")


lib.C.m = m
"""
HELPERS = "from pile.inner.words import END\n\n\ndef shout(text):\n    return text.upper() + END\n"
NO_PACKAGE = "it lies in no package: nothing keeps it off"


@pytest.mark.parametrize("patches", [WRAP, INSIDE], ids=["statement", "function"])
@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("from pile.helpers import shout", "shout"),
        ("from .helpers import shout as loud", "loud"),
        ("from pile import helpers", "helpers.shout"),
        ("import pile.helpers as helpers", "helpers.shout"),
        (
            "def late(text):\n    from pile.helpers import shout\n    return shout(text)",
            "late",
        ),
    ],
)
def test_a_helper_of_a_pile_that_nothing_keeps_off_is_copied(
    here: World,
    capsys: pytest.CaptureFixture[str],
    patches: str,
    line: str,
    call: str,
) -> None:
    """The rows alone do what the pile does: no body imports the pile, which would patch, too."""
    modules = {
        "__init__": f"{patches}\nimport pile.patch_a\n",
        "patch_a": BODY.format(line, call),
        "helpers": HELPERS,
        "inner.__init__": "",
        "inner.words": "END = '!'\n",
    }
    report = adopt(here, capsys, modules, "--no-observe")
    assert set(kinds(report)) == {"pile", "pile-a"}
    assert all(left["reason"].startswith(NO_PACKAGE) for left in report["left"])
    of_pile = here.answer(f"import pile\n{PROBE}", PATCHKIT="0")
    of_rows = here.answer(
        f"{ROWS}{PROBE}import sys\nassert 'pile' not in sys.modules\n"
    )
    assert of_rows == of_pile
    assert of_pile[0] == ["new", "f", 1, 0]
    assert of_pile[3] == "NEW!"


def test_an_import_that_stays_the_pile_s_is_listed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name of the package may be followed by anything in it."""
    modules = {
        "__init__": f"{WRAP}\nimport pile.patch_a\n",
        "patch_a": BODY.format("import pile.helpers", "pile.helpers.shout"),
        "helpers": HELPERS.replace("from pile.inner.words import END", "END = '!'"),
    }
    report = adopt(here, capsys, modules, "--no-observe")
    listed = [
        left for left in report["left"] if not left["reason"].startswith(NO_PACKAGE)
    ]
    assert [(left["line"], left["code"]) for left in listed] == [
        (3, "import pile.helpers")
    ]
    assert "makes the pile's own changes" in listed[0]["reason"]


def test_a_helper_of_a_pile_that_is_kept_off_stays_there(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its package patches nothing, so that its import does not either."""
    modules = {
        "__init__": "",
        "patches.__init__": "import pile.patches.patch_a\n",
        "patches.patch_a": BODY.format("from pile.helpers import shout", "shout"),
        "helpers": HELPERS.replace("from pile.inner.words import END", "END = '!'"),
    }
    report = adopt(here, capsys, modules, "--no-observe")
    assert report["left"] == []
    folder: Path = here.folder / "mine"
    assert "from pile.helpers import shout" in (folder / "patch_a.py").read_text()
    of_pile = here.answer(f"import pile.patches\n{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == of_pile


@pytest.mark.parametrize("words", [(), ("--only", "pile.patches")])
@pytest.mark.parametrize(
    "asks", ["", "import os\nif os.environ.get('HOME') != 'x':\n    "]
)
def test_a_body_whose_imports_lead_back_to_it(
    here: World, capsys: pytest.CaptureFixture[str], asks: str, words: tuple[str, ...]
) -> None:
    """The pile's package imports all of its patches, and a body a helper in that package.

    A row may be due before anybody imports the pile; the pile's own module is always imported after
    its package.
    """
    modules = {
        "__init__": f"{asks}from pile.patches import MORE\n",
        "patches.__init__": f"{asks}from .patch_a import MORE\nimport pile.patches.patch_b\n",
        "patches.patch_a": BODY.format("from pile.helpers import shout", "shout")
        + "MORE = []\n",
        "patches.patch_b": "from up import lib\nfrom .patch_a import MORE\n"
        "MORE.append('b')\n\n\ndef s(a):\n    return ('new', *MORE)\n\n\n"
        "lib.C.s = staticmethod(s)\n",
        "helpers": HELPERS.replace("from pile.inner.words import END", "END = '!'"),
    }
    adopt(here, capsys, modules, "--no-observe", *words)
    of_pile = here.answer(f"import pile\n{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{PROBE}") == of_pile
    assert here.answer(f"{ROWS}import pile\n{PROBE}") == of_pile
    assert (of_pile[3], of_pile[5]) == ("NEW!", ["new", "b"])

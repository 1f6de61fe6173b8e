"""Bodies that no process can load, found without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

WRAP = "Wrap('up.mod:f', by='w')"
BODY = "def w(wrapped, instance, args, kwargs): ...\n"
UP = subject("1.0", mod="def f(): ...")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"def w(wrapped, instance, args, kwargs: ...\n", "does not compile"),
        (BODY.encode() + b"\0", "null bytes"),
        (b"# coding: nonsense\n" + BODY.encode(), "unknown encoding"),
        (BODY.encode() + b"WORD = '\xff'\n", "utf-8"),
        (BODY.encode() + b"return 1\n", "outside function"),
        (b"from pack import _lost\n" + BODY.encode(), "_lost"),
        (b"from pack._help import lost\n" + BODY.encode(), "lost"),
        (b"from ._help import lost\n" + BODY.encode(), "lost"),
        (b"from ..other import name\n" + BODY.encode(), "`from ..other` leads beyond"),
        (b"from . import _wrong\n" + BODY.encode(), "pack._wrong does not compile"),
        (b"LOG = loging.getLogger()\n" + BODY.encode(), "reads loging as it is loaded"),
        (b"class C(Base): ...\n" + BODY.encode(), "reads Base as it is loaded"),
        (b"class C:\n    x = LIMIT\n" + BODY.encode(), "reads LIMIT as it is loaded"),
        (b"from . import _late\n" + BODY.encode(), "pack._late reads lost"),
    ],
)
def test_a_body_that_cannot_be_loaded_is_an_error(
    world: World, body: bytes, words: str
) -> None:
    """What Python does not compile, and what a pack lacks, is found in the body's own file."""
    world.pack(
        row("p", "patch_a", WRAP),
        patch_a="",
        _help="here = 1\n",
        _wrong="def (:\n",
        _late="lost\n",
    )
    (world.folder / "pack" / "patch_a.py").write_bytes(body)
    report = checked([UP])
    finding = only_finding(report, "PK504")
    assert words in finding.message
    assert finding.line is not None or "null bytes" in words or "utf-8" in words
    assert report.grid == {"p": {"up 1.0": "broken"}}


@pytest.mark.parametrize(
    "top",
    [
        "from pack._help import here\n",
        "from . import _help\n",
        "try:\n    from pack._help import lost\nexcept ImportError:\n    lost = None\n",
        "def late():\n    from pack._help import lost\n",
        "import pack._help as helper\n",
        "import json, up.mod\n",
        "from __future__ import annotations\n",
        "WORDS = '\\d'\n",
        "def late():\n    return lost\n",
        "x: Lost = 1\ndef late(y: Lost) -> Lost: ...\n",
        "try:\n    text = unicode\nexcept NameError:\n    text = str\n",
        "from json import *\nprint(loads)\n",
        "def late():\n    global made\n    made = 1\nlate()\nmade\n",
        "class C:\n    x = 1\n    y = x\n__file__, __name__, __path__\n",
        "import sys\nif sys.version_info < (3,):\n    import old\n    old.x\n",
    ],
)
def test_a_body_that_can_be_loaded_is_fine(world: World, top: str) -> None:
    """What is there, guarded or imported later is no fault; nor is a warning of the compiler."""
    world.pack(row("p", "patch_a", WRAP), patch_a=top + BODY, _help="here = 1\n")
    assert codes(checked([UP])) == []


def test_a_misspelled_name_of_the_body_has_a_suggestion(world: World) -> None:
    """The body defines a name like it."""
    body = "def around(wrapped, instance, args, kwargs): ...\n"
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='arround')"), patch_a=body)
    (message,) = [
        finding.message
        for finding in checked([UP]).findings
        if finding.code.code == "PK503"
    ]
    assert message.endswith("; did you mean pack.patch_a:around?")


def test_a_name_that_is_never_defined_is_not_in_the_body(world: World) -> None:
    """A definition under a condition that is never true counts for nothing."""
    body = "if False:\n    def w(wrapped, instance, args, kwargs): ...\n"
    world.pack(row("p", "patch_a", WRAP), patch_a=body)
    report = checked([UP])
    assert codes(report) == ["PK503"]
    assert report.grid["p"] == {"up 1.0": "broken"}

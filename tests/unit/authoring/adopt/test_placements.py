"""What `patchkit adopt` reads of a pile: rows that do what it does, or a place in the list."""

from __future__ import annotations

import pytest

from authoring.adopt.pile_of_up import PROBE, TOOLS, World, adopt, both, here, kinds, world

__all__ = ["here", "world"]

FORMS = {
    "a method": ("def m(self, a, b=0):\n    return 'new'\n\n\nC.m = m\n", ["Replace"]),
    "by the name of its module": (
        "import up.lib\n\n\ndef g():\n    return 'new'\n\n\nup.lib.g = g\n",
        ["Replace"],
    ),
    "what is no name": ("C.size = 1 + 1\nC.p = property(lambda self: 'new')\n", ["Replace"] * 2),
    "a new attribute": ("C.new = 5\nlib.extra = 'new'\n", ["Add", "Add"]),
    "setattr": ("setattr(C, 'm', lambda self, a, b=0: 'new')\n", ["Replace"]),
    "several at once": ("lib.extra = C.new = 7\n", ["Add", "Add"]),
    "an item": ("lib.TABLE['a'] = 2\n", ["Replace"]),
    "a static method": ("C.s = staticmethod(lambda a: 'new')\n", ["Replace"]),
    "a class": (
        "class E(C):\n    def m(self, a, b=0):\n        return 'E'\n\n\nlib.C = E\n",
        ["Replace"],
    ),
    "a loop over places": (
        "from up import user\n\n\ndef g():\n    return 'new'\n\n\n"
        "for one in (lib, user):\n    one.g = g\n",
        ["Replace", "Replace"],
    ),
    "a loop over names and values": (
        "NEW = 5\n\n\ndef m(self, a, b=0):\n    return 'new'\n\n\n"
        "for name, value in (('m', m), ('new', NEW)):\n    setattr(C, name, value)\n",
        ["Replace", "Add"],
    ),
    "a loop in a function that is called": (
        "def m(self, a, b=0):\n    return 'new'\n\n\ndef start():\n"
        "    for name, value in (('m', m), ('new', m)):\n        setattr(C, name, value)\n"
        "    C.new = 7\n\n\nstart()\n",
        ["Add", "Add", "Replace"],
    ),
    "a condition": (
        "if hasattr(lib, 'g'):\n    lib.g = lambda: 'new'\nelse:\n    lib.extra = 1\n",
        ["Replace", "Add"],
    ),
    "a function that is called": (
        "def start():\n    from up.lib import C as K\n    old = K.m\n\n"
        "    def m(self, a, b=0):\n        return 'new', old(self, a, b)\n\n"
        "    K.m = m\n\n\nstart()\n",
        ["Replace"],
    ),
    "an original that is kept": (
        "old = C.m\n\n\ndef m(self, a, *rest):\n    # why\n"
        "    return 'new', old(self, a + 1, *rest)\n\n\nC.m = m\n",
        ["Wrap"],
    ),
    "any arguments": (
        "old = lib.f\n\n\ndef f(*args, **kwargs):\n    return 'new', old(*args, **kwargs)\n\n\n"
        "lib.f = f\n",
        ["Wrap"],
    ),
    "an original that is kept for others, too": (
        "old = C.m\n\n\ndef m(self, a, b=0):\n    return old(self, a)\n\n\nkept = [old]\nC.m = m\n",
        ["Replace"],
    ),
    "a wrapper on one line": (
        "old = C.m\n\n\ndef m(self, a, b=0): return 'new', old(self, a)\n\n\nC.m = m\n",
        ["Replace"],
    ),
    "a wrapper with a text of several lines": (
        'old = C.m\n\n\ndef m(self, a, b=0):\n    return old(self, a), """x\n    y"""\n\n\n'
        "C.m = m\n",
        ["Replace"],
    ),
    "a check that it is there": (
        "def g():\n    return 'new'\n\n\nlib.g = g\nassert lib.g is g\n",
        ["Replace"],
    ),
    "a module from sys.modules": (
        "import sys\n\nsys.modules['up.lib'].g = lambda: 'new'\n",
        ["Replace"],
    ),
    "a class with a base that names its target": (
        "from pile.tools import ArcticPatch\n\n\nclass P(ArcticPatch[C]):\n    new = 3\n\n"
        "    def m(self, a, b=0):\n        return 'new'\n",
        ["Add", "Replace"],
    ),
    "registrations": (
        "from pile.tools import register_patch\n\n\n"
        "@register_patch(target='up.lib.C.m', reason='why')\ndef m(self, a, b=0):\n"
        "    return 'new'\n\n\nregister_patch(target='up.lib.g', reason='too')(lambda: 'new')\n",
        ["Replace", "Replace"],
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize("form", FORMS)
def test_rows_do_what_the_pile_does(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """Whatever the form of its statements; the pile itself is off while its rows run."""
    text, expected = FORMS[form]
    text = f"from up import lib\nfrom up.lib import C\n\n{text}"
    told = adopt(here, capsys, {"patches": text, "tools": TOOLS})
    assert told["left"] == []
    assert sorted(kind for several in kinds(told).values() for kind, _ in several) == sorted(
        expected
    )
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


def test_calls_that_run_later_are_no_changes(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function may use what it likes: only what runs as the pile is imported is listed."""
    own = "MINE = []\nMINE.append(1)\n"
    text = f"from up import lib\n{own}\n\ndef m(self):\n    lib.LIST.append(1)\n\n\nlib.C.m = m\n"
    told = adopt(here, capsys, {"patches": text})
    assert (told["left"], told["expressed"]) == ([], 1)


LEFT = {
    "in a function that nobody calls": (
        "def late():\n    C.m = 1\n\n\nC.size = 2\n",
        "it is set when late runs",
    ),
    "changed in place": ("C.size += 1\nC.new = 1\n", "it changes or deletes what is there"),
    "changed by a call": (
        "table = lib.C.table\nif table.setdefault(1, 2):\n    pass\nC.new = 1\n",
        "it changes or deletes what is there",
    ),
    "changed by a call of a function that runs": (
        "def fill():\n    lib.C.table.update(a=1)\n\n\nfill()\nC.new = 1\n",
        "it changes or deletes what is there",
    ),
    "an item with a key that is worked out": (
        "for key in 'a b'.split():\n    lib.TABLE[key] = 2\nlib.TABLE[5] = 1\nC.new = 1\n",
        "it changes or deletes what is there",
    ),
    "a slice, and an item that is deleted": (
        "lib.LIST[:] = [7]\ndel lib.LIST[0]\nlib.LIST.sort()\nC.new = 1\n",
        "it changes or deletes what is there",
    ),
    "an item that is read again": (
        "lib.TABLE['a'] = 2\nlib.extra = lib.TABLE['a']\n",
        "the module reads it again",
    ),
    "deleted": ("del C.size\nC.new = 1\n", "it changes or deletes what is there"),
    "a name that is worked out": (
        "setattr(C, 'm'.lower(), 1)\nC.new = 1\n",
        "the name that it sets is not told",
    ),
    "what the release does not have": ("lib.Gone.m = 1\nC.new = 1\n", "up 1.0 has no up.lib:Gone"),
    "a loop with values of its own": (
        "for name, value in (('m', 1 + 1), ('new', 2)):\n    setattr(C, name, value)\nC.size = 2\n",
        "differs from turn to turn",
    ),
}


@pytest.mark.parametrize("form", LEFT)
def test_what_no_row_says(here: World, capsys: pytest.CaptureFixture[str], form: str) -> None:
    """It is listed with its file, its line, its code and the reason."""
    text, reason = LEFT[form]
    told = adopt(here, capsys, {"patches": f"from up import lib\nfrom up.lib import C\n\n{text}"})
    assert told["left"]
    for one in told["left"]:
        assert reason in one["reason"]
        assert (one["file"], one["line"] > 3, bool(one["code"])) == ("pile/patches.py", True, True)
    assert told["sites"] == told["expressed"] + len(told["left"])

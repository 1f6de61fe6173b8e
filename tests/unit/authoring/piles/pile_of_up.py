"""A pile that patches `up`, a release of it on an index, and what comes of both."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from support.packages import World, world

from authoring.index_of_up import INTO_MINE, serve
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "A_CLOSURE",
    "PROBE",
    "PROJECT",
    "ROWS",
    "TOOLS",
    "UP",
    "World",
    "adopt",
    "answers",
    "both",
    "forms",
    "here",
    "kinds",
    "observed",
    "program",
    "world",
]

PILES = Path(__file__).with_name("written")

LIB = '''\
"""What piles patch."""

TABLE = {"a": 1}


def f(a, b=0):
    return ("f", a, b)


def g():
    return "g"


class C:
    size = 1

    def m(self, a, b=0):
        return ("m", a, b)

    @staticmethod
    def s(a):
        return ("s", a)

    @property
    def p(self):
        return "p"


class D(C):
    pass
'''
USER = "from up.lib import C, f, g\n\n\ndef use():\n    return f(1), g(), C().m(2)\n"
UP = {"lib": LIB, "user": USER}
PROBE = """
import json
from up import lib, user
c = lib.C()
told = [lib.f(1), lib.f(1, b=2), lib.g(), c.m(1), c.m(1, 2), lib.C.s(3), c.p, lib.C.size]
told += [lib.D().m(4), getattr(lib.C, "new", None), getattr(lib, "extra", None), lib.TABLE]
told += [type(c).__name__, user.use()]
print(json.dumps(told, default=repr))
"""

PROJECT = """
[project]
name = "pile"
dependencies = [{dependencies}]
[project.entry-points."vllm.general_plugins"]
pile = "pile.start:register"
"""
ROWS = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
START = "import pile.start\npile.start.register()\n"
A_CLOSURE = """
        from up import lib

        def register():
            original = lib.f

            def f(a, b=0):
                return ("new", *original(a, b))

            lib.f = f
        """


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A release of `up` on an index, and the same on the path."""
    serve(world, monkeypatch, {"1.0": UP})
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=1.0")
    for name, text in UP.items():
        world.module(f"up.{name}", text)
    return world


def adopt(
    here: World,
    capsys: pytest.CaptureFixture[str],
    modules: Mapping[str, str],
    *words: str,
) -> dict[str, Any]:
    """Write a pile, adopt it into `mine`, and return the JSON report.

    The exit code is 1 if something is listed, else 0.
    """
    for name, text in modules.items():
        here.module(f"pile.{name}", text)
    capsys.readouterr()
    code = main(["adopt", "pile", *INTO_MINE, "--format", "json", *words])
    out, err = capsys.readouterr()
    assert out, err
    report: dict[str, Any] = json.loads(out)
    assert code == bool(report["left"])
    return report


def forms(folder: str) -> list[str]:
    """The names of the programs in a folder of `piles`, with blanks for underscores."""
    return sorted(file.stem.replace("_", " ") for file in (PILES / folder).glob("*.py"))


def program(folder: str, form: str) -> str:
    """The text of one of these programs, which is a module of a pile."""
    file = PILES / folder / f"{form.replace(' ', '_')}.py"
    return file.read_text("utf-8")


def kinds(report: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The kind and target of each row's changes, without the row that keeps the pile off."""
    return {
        patch["name"]: [
            (change["kind"], change["target"]) for change in patch["changes"]
        ]
        for patch in report["patches"]
        if patch["name"] != "old-pile"
    }


def answers(here: World) -> tuple[Any, Any]:
    """What upstream does once the pile is imported, and with the rows applied instead."""
    of_pile = here.answer(f"import pile.patches\n{PROBE}", PATCHKIT="0")
    apply = "from patchkit import applied\napplied(packs='mine').__enter__()\nimport pile.patches\n"
    of_rows = here.answer(f"{apply}{PROBE}")
    return of_pile, of_rows


TOOLS = """\
import importlib


class ArcticPatch:
    def __class_getitem__(cls, target):
        class Base:
            def __init_subclass__(own):
                for name, value in vars(own).items():
                    if name[:2] != "__":
                        setattr(target, name, value)

        return Base


def register_patch(*, target, reason, condition=None):
    def put(value):
        module, *names, last = target.replace("up.lib", "up/lib").split(".")
        owner = importlib.import_module(module.replace("/", "."))
        for name in names:
            owner = getattr(owner, name)
        if condition is None or condition():
            setattr(owner, last, value)
        return value

    return put
"""


def observed(
    here: World,
    capsys: pytest.CaptureFixture[str],
    modules: Mapping[str, str],
    *words: str,
) -> dict[str, Any]:
    """Write a pile whose entry point is `pile.start:register`, and adopt what it does."""
    project = PROJECT.format(dependencies="")
    (here.folder / "pyproject.toml").write_text(project, "utf-8")
    texts = {name: dedent(text) for name, text in modules.items()}
    return adopt(here, capsys, texts, "--observe", *words)


def both(here: World) -> tuple[Any, Any]:
    """What upstream does once the pile's function was called, and with the rows in its place."""
    theirs = here.answer(f"{START}{PROBE}", PATCHKIT="0")
    ours = here.answer(f"{ROWS}{START}{PROBE}")
    return theirs, ours

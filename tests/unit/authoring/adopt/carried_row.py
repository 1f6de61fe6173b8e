"""One row that is carried between two releases of `up`, which lie in memory."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from analysis.check.released import subject
from support.packages import row, world

from patchkit.analysis.check.packs import PackSource
from patchkit.authoring.adopt.rebasing import Rebase
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from support.packages import World

__all__ = [
    "BODY",
    "COPY",
    "KINDS",
    "STEPS",
    "F",
    "carry",
    "code",
    "edit",
    "world",
    "written",
]

KINDS = {
    "function": ("f", "def f(a):\n{}"),
    "async function": ("f", "async def f(a):\n{}"),
    "method": ("A.f", "class A:\n    def f(self, a):\n{}"),
    "async method": ("A.f", "class A:\n    async def f(self, a):\n{}"),
    "static method": ("A.f", "class A:\n    @staticmethod\n    def f(a):\n{}"),
    "class method": ("A.f", "class A:\n    @classmethod\n    def f(cls, a):\n{}"),
    "property": ("A.f", "class A:\n    @property\n    def f(self):\n{}"),
    "setter": (
        "A.f.fset",
        "class A:\n    @property\n    def f(self):\n        return 1\n\n"
        "    @f.setter\n    def f(self, a):\n{}",
    ),
    "decorated": (
        "f",
        "import functools\n\n\n@functools.lru_cache(maxsize=3)\ndef f(a):\n{}",
    ),
    "nested class": ("A.B.f", "class A:\n    class B:\n        def f(self, a):\n{}"),
}
STEPS = [f"step_{n} = run({n})" for n in range(8)]


def code(kind: str, **changed: str) -> str:
    """A module with one callable of a kind, some of whose lines are other than usual."""
    template = KINDS[kind][1]
    last = template.rstrip("{}\n").rpartition("\n")[2]
    margin = " " * (len(last) - len(last.lstrip()) + 4)
    lines = [changed.get(one.split(" ")[0], one) for one in STEPS]
    return template.format("".join(f"{margin}{one}\n" for one in lines))


def carry(
    world: World,
    old: str,
    new: str,
    *changes: str,
    body: str | None = None,
    keep: bool = False,
    versions: tuple[str, str] = ("1.1", "2.0"),
    late: str = "",
    more: str = "",
    **fields: str,
) -> Rebase:
    """Carry the row `p` from one text of `up.mod` to another."""
    bodies = {} if body is None else {"patch_a": body}
    (world.folder / "pack").mkdir(exist_ok=True)
    world.pack(
        row(
            "p",
            "patch_a" if bodies else None,
            *changes,
            **{"requires": "('up>=1,<2',)", **fields},
        ),
        *filter(None, [more]),
        **bodies,
    )
    if body:
        (world.folder / "pack" / "patch_a.py").write_bytes(body.encode())
    sys.modules.pop("pack", None)
    found, *_ = read_pack("pack")
    sides = (
        subject(one, mod=text, late=late)
        for one, text, late in zip(versions, (old, new), ("", late), strict=True)
    )
    done = Rebase(found, *sides, PackSource("pack"), keep)
    done.run()
    if not done.conflicts:
        done.plan()
    return done


def written(done: Rebase, what: str = "row") -> str:
    """A file as it is planned, without layout."""
    (text,) = (one.text for one in done.files if one.what == what)
    ast.parse(text)
    return "".join(text.split()).replace('"', "'")


def edit(name: str, old: str, new: str, more: str = "") -> str:
    return f"Edit('up.mod:{name}', old={old!r}, new={new!r}{more})"


F = code("function")
BODY = code("function", step_7="step_7 = run(77)")
COPY = "Replace('up.mod:f', by='f')"

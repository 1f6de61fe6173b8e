"""One row that is carried between two releases of `up`, which lie in memory."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from analysis.check.released import subject
from support.packages import row, world

from patchkit.analysis.check.packs import PackSource
from patchkit.authoring.rebase.rebasing import Rebase
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
    """Return a module with one callable of a kind; `step_3="…"` replaces that line."""
    template = KINDS[kind][1]
    last = template.rstrip("{}\n").rpartition("\n")[2]
    margin = " " * (len(last) - len(last.lstrip()) + 4)
    lines = [changed.get(step.split(" ")[0], step) for step in STEPS]
    return template.format("".join(f"{margin}{line}\n" for line in lines))


def carry(
    world: World,
    old: str,
    new: str,
    *changes: str,
    body: str | None = None,
    keep: bool = False,
    versions: tuple[str, str] = ("1.1", "2.0"),
    late: str = "",
    old_late: str = "",
    other_row: str = "",
    **fields: str,
) -> Rebase:
    """Carry the row `p` from one text of `up.mod` to another, and plan what to write."""
    bodies = {} if body is None else {"patch_a": body}
    (world.folder / "pack").mkdir(exist_ok=True)
    world.pack(
        row(
            "p",
            "patch_a" if bodies else None,
            *changes,
            **{"requires": "('up>=1,<2',)", **fields},
        ),
        *filter(None, [other_row]),
        **bodies,
    )
    if body:
        (world.folder / "pack" / "patch_a.py").write_bytes(body.encode())
    sys.modules.pop("pack", None)
    patch, *_ = read_pack("pack")
    old_version, new_version = versions
    rebase = Rebase(
        patch,
        subject(old_version, mod=old, late=old_late),
        subject(new_version, mod=new, late=late),
        PackSource("pack"),
        keep,
    )
    rebase.run()
    if not rebase.conflicts:
        rebase.plan()
    return rebase


def written(rebase: Rebase, what: str = "row") -> str:
    """Return the planned text of the row or the body, without blanks and double quotes."""
    (text,) = (file.text for file in rebase.files if file.what == what)
    ast.parse(text)
    return "".join(text.split()).replace('"', "'")


def edit(name: str, old: str, new: str, more: str = "") -> str:
    """Write an Edit of `up.mod`; `more` are further arguments."""
    return f"Edit('up.mod:{name}', old={old!r}, new={new!r}{more})"


F = code("function")
BODY = code("function", step_7="step_7 = run(77)")
COPY = "Replace('up.mod:f', by='f')"

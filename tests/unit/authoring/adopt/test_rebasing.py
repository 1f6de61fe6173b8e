"""A row that is carried: each kind of change and of code, over releases that lie in memory."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import subject
from support.packages import row, world

from patchkit.analysis.check.packs import PackSource
from patchkit.authoring.adopt.rebasing import Rebase
from patchkit.authoring.scaffold.plan import write
from patchkit.errors import ScaffoldError, UpstreamError
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]
pytestmark = pytest.mark.processes  # git

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
    "decorated": ("f", "import functools\n\n\n@functools.lru_cache(maxsize=3)\ndef f(a):\n{}"),
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
            "p", "patch_a" if bodies else None, *changes, **{"requires": "('up>=1,<2',)", **fields}
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


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_every_kind_of_function(world: World, kind: str) -> None:
    """The lines that it names have changed: the Edit is written for the new ones."""
    name, _ = KINDS[kind]
    change = edit(name, "step_3 = run(3)\nstep_4 = run(4)", "step_3 = run(3)\nstep_4 = run(44)")
    done = carry(world, code(kind), code(kind, step_3="step_3 = walk(3)"), change)
    assert (done.result, done.conflicts) == ("merged", [])
    ((made,),) = done.changes
    assert (made.old, made.new) == ("step_4 = run(4)", "step_4 = run(44)")
    assert "requires=('up>=2.0,<2.1',)" in written(done)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_every_kind_of_function(world: World, kind: str) -> None:
    """The body has it outside of its class, under a name of its own, without decorators."""
    name, template = KINDS[kind]
    head = template.removesuffix("\n{}").rpartition("\n")[2].strip()
    head = head.replace("def f(", "def ours(")
    steps = "".join(f"    {one}\n" for one in [*STEPS[:7], "step_7 = run(77)"])
    body = f"{head}\n{steps}"
    done = carry(
        world,
        code(kind),
        code(kind, step_2="step_2 = walk(2)"),
        f"Replace('up.mod:{name}', by='ours')",
        body=body,
    )
    assert (done.result, done.conflicts) == ("merged", [])
    assert done.files[1].text == body.replace("run(2)", "walk(2)")


F = code("function")
BODY = code("function", step_7="step_7 = run(77)")
COPY = "Replace('up.mod:f', by='f')"


def test_edits_of_one_function_are_carried_together(world: World) -> None:
    """The first of them is what both have become, the second is gone."""
    changes = (
        edit("f", "step_1 = run(1)\nstep_2 = run(2)", "step_1 = run(11)\nstep_2 = run(2)"),
        edit("f", "run(6)", "run(66)"),
    )
    done = carry(world, F, code("function", step_2="step_2 = walk(2)"), *changes)
    first, second = done.changes
    made = [("step_6 = run(6)", "step_6 = run(66)"), ("step_1 = run(1)", "step_1 = run(11)")]
    assert [(one.old, one.new) for one in first] == made
    assert not second
    assert written(done).count("Edit('up.mod:f'") == 2


@pytest.mark.parametrize("more", [", when='asked'", ", requires=('other',)", ", rebind=False"])
def test_edits_under_other_conditions_are_carried_apart(world: World, more: str) -> None:
    """What becomes of one is not made under the condition of the other."""
    changes = (
        edit("f", "step_1 = run(1)\nstep_2 = run(2)", "step_1 = run(11)\nstep_2 = run(2)", more),
        edit("f", "run(6)", "run(66)"),
    )
    body = "def asked():\n    return True\n"
    done = carry(world, F, code("function", step_2="step_2 = walk(2)"), *changes, body=body)
    (first,), (second,) = done.changes
    assert (first.new, second.new) == ("step_1 = run(11)", "run(66)")
    assert [
        one.kind
        for one in (first, second)
        if (one.when, one.requires, one.rebind) == (None, (), True)
    ] == ["Edit"]
    assert (second.when, second.requires, second.rebind) == (None, (), True)


def test_an_edit_of_two_places(world: World) -> None:
    """Upstream has a third by now: each of the two is named by its own lines."""
    old = code("function", step_3="same(1)", step_5="same(1)")
    new = code("function", step_3="same(1)", step_5="same(1)", step_7="same(1)")
    done = carry(world, old, new, edit("f", "same(1)", "same(2)", ", count=2"))
    (made,) = done.changes
    assert done.result == "merged"
    assert [one.count for one in made] == [1, 1]
    assert all("same(2)" in one.new for one in made)


@pytest.mark.parametrize(
    "new",
    [
        "class f:\n    pass\n",
        "f = 3\n",
        "from up.late import g as f\n",
        "import json as f\n",
        "f = print\n",
    ],
)
@pytest.mark.parametrize("change", ["Replace('up.mod:f', by='f')", edit("f", "run(3)", "run(33)")])
def test_a_target_of_another_kind(world: World, new: str, change: str) -> None:
    """A person has to decide; nothing is planned."""
    done = carry(
        world,
        F,
        new,
        change,
        body=BODY if "by" in change else None,
        late="def g():\n    return 1\n",
    )
    assert done.result == "conflict"
    assert done.files == []


def test_a_merge_that_does_not_parse(world: World) -> None:
    """Each side has deleted the other half of a block."""
    old = (
        "def f(a):\n    one()\n    if a:\n        two()\n        three()\n    four()\n    five()\n"
    )
    new = old.replace("        two()\n", "")
    done = carry(world, old, new, COPY, body=old.replace("        three()\n", ""))
    (conflict,) = done.conflicts
    assert conflict.reason.startswith("merged: expected an indented block")
    assert "if a:\n    four()" in conflict.text
    assert "-        two()" in conflict.upstream


def test_what_is_gone(world: World) -> None:
    """Said with the release that lacks it."""
    done = carry(world, F, "g = 1\n", edit("f", "run(3)", "run(33)"))
    assert "up 2.0" in done.conflicts[0].reason
    done = carry(world, "g = 1\n", F.replace("run", "other"), edit("f", "run(3)", "run(33)"))
    assert "up 1.1" in done.conflicts[0].reason


def test_a_part_that_upstream_has_goes(world: World) -> None:
    """The other changes of the row are written alone."""
    old = F + "\n\n" + F.replace("def f", "def g")
    new = old.replace("run(6)", "run(66)", 1)
    changes = (
        edit("g", "run(4)", "run(44)"),
        edit("f", "run(6)", "run(66)"),
        "Add('up.late:h', by='h')",
    )
    done = carry(
        world, old, new, *changes, body="def h():\n    return 1\n", late="def h():\n    return 2\n"
    )
    assert done.result == "merged"
    assert "changes=(Edit('up.mod:g',old='run(4)',new='run(44)'),)" in written(done)


@pytest.mark.parametrize(
    "body",
    [
        "from json import loads as f\n",
        "if True:\n" + "".join(f"    {one}\n" for one in BODY.splitlines()),
        "try:\n    import nothing\nexcept ImportError:\n"
        + "".join(f"    {one}\n" for one in BODY.splitlines()),
    ],
)
def test_a_copy_that_cannot_be_merged_is_a_persons(world: World, body: str) -> None:
    """It stands below a condition, or elsewhere, and upstream has changed."""
    done = carry(world, F, code("function", step_2="step_2 = walk(2)"), COPY, body=body)
    assert done.result == "conflict"
    assert "step_2 = walk(2)" in done.conflicts[0].upstream
    assert carry(world, F, F, COPY, body=body).result == "unchanged"


def test_a_body_of_two_changes_has_both_merged(world: World) -> None:
    """One after the other, with what the first has become."""
    old = F + "\n\n" + F.replace("def f", "def g")
    new = (
        F.replace("run(1)", "walk(1)")
        + "\n\n"
        + F.replace("def f", "def g").replace("run(2)", "walk(2)")
    )
    body = BODY + "\n\n" + BODY.replace("def f", "def g")
    done = carry(world, old, new, COPY, "Replace('up.mod:g', by='g')", body=body)
    assert done.conflicts == []
    text = written(done, "body")
    assert text.count("walk(1)") == text.count("walk(2)") == 1
    assert text.count("run(77)") == 2


def test_keeping_twice(world: World) -> None:
    """Three functions, each for its releases."""
    two = code("function", step_2="step_2 = walk(2)")
    done = carry(world, F, two, COPY, body=BODY, keep=True)
    write(done.files)
    sys.modules.pop("pack")
    (found,) = read_pack("pack")
    again = Rebase(
        found,
        subject("2.0", mod=two),
        subject("3.0", mod=two.replace("run(4)", "walk(4)")),
        PackSource("pack"),
        True,
    )
    again.run()
    again.plan()
    assert again.conflicts == []
    text = written(again)
    assert "Replace('up.mod:f',by='f',requires=('up<2.0',))" in text
    assert "Replace('up.mod:f',by='f_2_0',requires=('up>=2.0','up<3.0'))" in text
    assert "by='f_2_0_3_0',requires=('up>=2.0','up>=3.0')" in text
    assert "requires=('up>=1,<3.1',)" in text
    assert written(again, "body").count("def") == 3


@pytest.mark.parametrize(
    "body",
    [
        "\ufeff" + BODY,
        BODY.replace("\n", "\r\n"),
        BODY.replace("    ", "\t"),
        "# Ünïcödé ✓\n" + BODY,
        "# one\fpage\n\f\n" + BODY,
    ],
    ids=["BOM", "CRLF", "tabs", "letters", "pages"],
)
def test_bodies_in_unusual_files(world: World, body: str) -> None:
    """All else of the file stays byte for byte; but for a byte order mark, which goes."""
    new = code("function", step_2="step_2 = walk(2)")
    if "\t" in body:
        new = new.replace("    ", "\t")
    done = carry(world, new.replace("walk", "run"), new, COPY, body=body)
    assert done.conflicts == []
    (made,) = (one.new for one in done.files if one.what == "body")
    assert made == body.removeprefix("\ufeff").encode().replace(b"run(2)", b"walk(2)")


def test_a_body_that_does_not_parse(world: World) -> None:
    """One error names it where it has to be read; where not, `check` says so."""
    body = "def f(a:\n"
    with pytest.raises(UpstreamError, match=r"patch_a\.py"):
        carry(world, F, code("function", step_2="step_2 = walk(2)"), COPY, body=body)
    assert carry(world, F, F, COPY, body=body).result == "unchanged"


def test_requirements_on_other_packages_stay(world: World) -> None:
    """A version of one is none of the other."""
    more = "Wrap('ray.mod:f', by='w')"
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    done = carry(
        world,
        F,
        F,
        edit("f", "run(3)", "run(33)"),
        more,
        body=body,
        requires="('up>=1,<2', 'ray>=2.35')",
    )
    assert "requires=('up>=1,<2.1','ray>=2.35')" in written(done)


def test_from_a_release_that_is_out_of_range(world: World) -> None:
    """What it was written for is what somebody says, whatever its range is."""
    new = code("function", step_2="step_2 = walk(2)")
    done = carry(world, F, new, COPY, body=BODY, requires="('up>=2',)")
    assert done.result == "merged"


def test_a_body_that_changes_meanwhile(world: World) -> None:
    """What somebody has written between reading and writing is not lost."""
    (world.folder / "pack").mkdir()
    done = carry(world, F, F, COPY, body=BODY)
    done = Rebase(
        done.row,
        done.old,
        subject("2.0", mod=code("function", step_2="step_2 = walk(2)")),
        done.pack,
    )
    done.run()
    file = world.folder / "pack" / "patch_a.py"
    file.write_text(BODY + "\n\nmore = 1\n")
    done.plan()
    with pytest.raises(ScaffoldError, match="changed meanwhile"):
        write(done.files)
    assert file.read_text() == BODY + "\n\nmore = 1\n"


def test_a_function_that_two_rows_use(world: World) -> None:
    """It is not changed under the other row; beside it, another may be."""
    new = code("function", step_2="step_2 = walk(2)")
    other = row("q", "patch_a", "Replace('up.late:f', by='f')")
    done = carry(world, F, new, COPY, body=BODY, more=other)
    assert done.conflicts[0].reason == "other rows of the body use f, too"
    done = carry(world, F, new, COPY, body=BODY, more=other, keep=True)
    assert "def f_2_0(" in done.files[1].text
    others = row("q", "patch_a", "Replace('up.late:f', by='g')")
    body = BODY + "\n\ng = f\n"
    assert carry(world, F, new, COPY, body=body, more=others).result == "merged"


def test_imports_of_a_body_that_two_rows_use(world: World) -> None:
    """They stay, for the releases of the other."""
    body = "from up.mod import g\n\n\n" + BODY
    g = F.replace("def f", "def g").replace("run", "go")
    old, new = f"{F}\n\n{g}", F
    done = carry(world, old, new, COPY, body=body, late=g)
    assert (done.result, done.files[1].text) == ("merged", body.replace("up.mod", "up.late"))
    other = row("q", "patch_a", "Wrap('up.late:f', by='f')")
    done = carry(world, old, new, COPY, body=body, late=g, more=other)
    assert [str(one.target) for one in done.conflicts] == ["up.mod:g"]
    assert "it moved, and other rows" in done.conflicts[0].reason


def test_a_name_that_is_there_already(world: World) -> None:
    """No second function of a name is written."""
    new = code("function", step_2="step_2 = walk(2)")
    done = carry(world, F, new, COPY, body=f"{BODY}\n\nf_2_0 = f\n", keep=True)
    assert done.conflicts[0].reason.startswith("f_2_0 is there already")

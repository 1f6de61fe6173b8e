from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.authoring.scaffold.row_edits import with_row
from patchkit.authoring.scaffold.rows import is_named, new_pack, row_text
from patchkit.core.rows import declaration
from patchkit.core.rows.declaration import AfterImport, Edit, Patch, Role, Wrap
from patchkit.errors import ScaffoldError

FILE = Path("my_pack/__init__.py")
NEW = Patch(
    name="new-one",
    body="patch_new",
    requires=("up>=1,<2", "other"),
    roles={Role.WORKER},
    changes=(
        Wrap(
            "up.mod:f",
            by="around_f",
            requires=("up>=1.2",),
            rebind=("more", "most"),
            when="asked",
        ),
        Edit("up.mod:g", old='it\'s "a"', new="b\\", rebind=False),
    ),
    required=False,
    after=("old-0",),
    when="asked",
)
OLD = {
    "exploded": 'Patch(\n        name="{n}",\n        requires=("up",),\n        changes=(),\n)',
    "short": "Patch(name='{n}', requires=['up'], changes=())",
    "helper": "_row('{n}')",
}
HELPER = "\n\ndef _row(name):\n    return Patch(name=name, requires=['up'], changes=())\n\n\n"
IMPORTS = (
    "from patchkit import Patch",
    "from patchkit import Wrap, Patch, Edit, Role  # all",
    "from patchkit import (\n    Add,\n    Patch,\n)",
)
LAYOUTS = (
    "(\n    {rows},\n)",
    "({rows},)",
    "(  # first\n    {rows},\n    # the end\n)",
    "(\n    {rows}, # close\n    )",
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """An `__init__.py` with some rows, in many hands' layouts."""
    forms = draw(st.lists(st.sampled_from(sorted(OLD)), max_size=3))
    rows = [OLD[form].format(n=f"old-{number}") for number, form in enumerate(forms)]
    layout = (
        draw(st.sampled_from(LAYOUTS))
        if rows
        else draw(st.sampled_from(["()", "(\n)"]))
    )
    head = draw(
        st.sampled_from(["", '"""Rows: ü."""\n\n', "# -*- coding: utf-8 -*-\n"])
    )
    annotation = draw(st.sampled_from(["", ": tuple[object, ...]"]))
    tail = draw(st.sampled_from(["", "\n", "\n\nLATER = 'ü'  # stays\n"]))
    start = f"{head}{draw(st.sampled_from(IMPORTS))}\n{HELPER}PATCHES{annotation} = "
    return start + layout.replace("{rows}", ",\n    ".join(rows)) + tail


@given(files(), st.sampled_from(["\n", "\r\n"]))
def test_the_file_says_the_same_and_a_row_more(text: str, newline: str) -> None:
    """Every letter outside of the import stays, in order; the rows are the old ones and the new."""
    old = text.replace("\n", newline).encode()
    new = with_row(FILE, old, NEW)
    assert is_subsequence(after_import(old), after_import(new))
    assert rows_of(new) == [*rows_of(old), NEW]
    assert new.count(b"\n") - new.count(b"\r\n") in (0, new.count(b"\n"))
    assert (b"\r\n" in new) == (newline == "\r\n")


def after_import(content: bytes) -> bytes:
    """The content of a file from behind its import."""
    return content.partition(b"def _row")[2]


def is_subsequence(old: bytes, new: bytes) -> bool:
    """Whether each letter of the old content is in the new, in that order."""
    letters = iter(new)
    return all(letter in letters for letter in old)


def rows_of(content: bytes) -> list[Patch]:
    """The rows that a file has when it runs."""
    namespace: dict[str, object] = {}
    exec(compile(content, "file", "exec"), namespace)
    return list(namespace["PATCHES"])  # type: ignore[call-overload]


def test_the_import_is_sorted() -> None:
    """An import that lacks words is sorted; one that has all of them is left as it is."""
    text = b"from patchkit import Wrap, Patch\nPATCHES = ()\n"
    assert with_row(FILE, text, NEW).startswith(
        b"from patchkit import Edit, Patch, Role, Wrap\n"
    )
    text = b"from patchkit import Wrap, Patch, Role, Edit\nPATCHES = ()\n"
    assert with_row(FILE, text, NEW).startswith(text[:45])


@pytest.mark.parametrize(
    "text",
    [
        "PATCHES = ()\n",
        "import patchkit\nPATCHES = ()\n",
        "from patchkit import *\nPATCHES = ()\n",
        "from patchkit import Patch as P\nPATCHES = ()\n",
        "from patchkit import (\n    Patch,  # mine\n)\nPATCHES = ()\n",
        "from patchkit import Patch\n",
        "from patchkit import Patch\nPATCHES = [1]\n",
        "from patchkit import Patch\nPATCHES = tuple(rows)\n",
        "from patchkit import Patch\nPATCHES = (\n    f(1),\n    f(2)\n)\n",
        "from patchkit import Patch\nPATCHES = (1,) + OTHERS\n",
        "from patchkit import Patch\nPATCHES = 1, 2\n",
        "from patchkit import Patch\nPATCHES = (f(1)), (f(2))\n",
        "from patchkit import Patch\nPATCHES = ((1), (2))\n",
        "from patchkit import Patch\nPATCHES = (1,)\nPATCHES += (2,)\n",
        "from patchkit import Patch\nif here:\n    PATCHES = (1,)\n",
        "from patchkit import Patch\nPATCHES = MINE = (1,)\n",
        "from patchkit import Patch\nPATCHES = (\n",
        "from patchkit import Patch\nPATCHES = (1,)\nPATCHES = (2,)\n",
        "from patchkit import Patch\nPATCHES = ()\nprint(PATCHES)\n",
    ],
)
def test_what_is_written_otherwise_is_refused(text: str) -> None:
    """A file whose import or `PATCHES` is not plain is one error that names the file."""
    with pytest.raises(
        ScaffoldError, match=r"^my_pack/__init__\.py: .*expected one plain tuple"
    ):
        with_row(FILE, text.encode(), NEW)


def test_a_new_pack_has_the_row() -> None:
    """The file of a new pack has the row when it runs, and a row's text is Python by itself."""
    assert rows_of(new_pack("my_pack", NEW)) == [NEW]
    assert isinstance(ast.parse(row_text(NEW)), ast.Module)


def test_a_name_that_others_come_after_is_free() -> None:
    """A name is taken by a row that has it, not by one that comes after it."""
    text = b"PATCHES = (Patch(name='new-one'),)"
    assert is_named(text, NEW)
    assert not is_named(text.replace(b"name=", b"after="), NEW)


def test_a_name_is_looked_for_as_it_is_written() -> None:
    """A dot in a name stands for a dot only, so that another row's name is not taken for it."""
    patch = NEW.__replace__(name="new.one")
    assert is_named(b'Patch(name="new.one")', patch)
    assert not is_named(b'Patch(name="new-one")', patch)


def test_a_tuple_that_is_too_long_has_a_line_for_each_element() -> None:
    """As a formatter would write it; a short one stays on its line."""
    targets = tuple(f"up.package.module:Class{number}.method" for number in range(3))
    row = NEW.__replace__(changes=(AfterImport("up", call="f", sets=targets),))
    text = row_text(row)
    assert f'            sets=(\n                "{targets[0]}",\n' in text
    assert max(map(len, text.splitlines())) <= 88
    assert eval(text, vars(declaration)) == row

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import patchkit
from patchkit.declaration import Edit, Patch, Role, Wrap
from patchkit.errors import ScaffoldError
from patchkit.scaffold.pack_file import PackFile

NEW = Patch(
    name="new-one",
    body="patch_new",
    requires=("up>=1,<2",),
    roles={Role.WORKER},
    changes=(Wrap("up.mod:f", by="around_f"), Edit("up.mod:g", old='it\'s "a"', new="b\\")),
)
OLD = {
    "exploded": 'Patch(\n{i}{i}name="{n}",\n{i}{i}requires=("up>=1",),\n{i}{i}changes=(),\n{i})',
    "short": "Patch(name='{n}', requires=['up'], changes=())",
    "parenthesised": "(Patch(name='{n}', requires=['up'], changes=()))  # why: ü",
    "helper": "_row('{n}')",
}
HELPER = "\n\ndef _row(name):\n{i}return Patch(name=name, requires=['up'], changes=())\n\n\n"
IMPORTS = (
    "from patchkit import Patch",
    "from patchkit import Patch as Patch, Role  # both",
    "from patchkit import (\n{i}Add,\n{i}Patch,\n)",
    "from patchkit.declaration import Wrap, Patch",
    "from patchkit import *",
)
LAYOUTS = (
    "(\n{i}{rows},\n)",
    "(\n{i}{rows}\n)",
    "({rows},)",
    "({rows}, )",
    "(  # first\n{i}{rows},\n{i}# the end\n)",
    "(\n{i}{rows}, # close\n{i})",
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """An `__init__.py` with some rows, in many hands' layouts."""
    indent = draw(st.sampled_from(["    ", "  ", "\t"]))
    forms = draw(st.lists(st.sampled_from(sorted(OLD)), max_size=3))
    rows = [OLD[form].format(i=indent, n=f"old-{at}") for at, form in enumerate(forms)]
    joined = f",\n{indent}".join(rows)
    layout = draw(st.sampled_from(LAYOUTS)) if rows else "()"
    if len(rows) == 1 and "{rows}," not in layout:
        layout = layout.replace("{rows}", "{rows},")
    head = draw(st.sampled_from(["", '"""Rows: ü."""\n\n', "# -*- coding: utf-8 -*-\n"]))
    imports = draw(st.sampled_from(IMPORTS))
    annotation = draw(st.sampled_from(["", ": tuple[object, ...]"]))
    tail = draw(st.sampled_from(["", "\n", "\n\nLATER = 'ü'  # stays\n"]))
    start = f"{head}{imports}\n{HELPER}PATCHES{annotation} = ".replace("{i}", indent)
    # A comment must end with its line before a comma or a bracket comes.
    body = layout.replace("{i}", indent).replace("{rows}", joined.replace("  # why: ü", ""))
    return start + body + tail


@given(files(), st.sampled_from(["\n", "\r\n"]))
def test_the_file_says_the_same_and_a_row_more(text: str, newline: str) -> None:
    """Every letter stays, in order; what runs has the old rows and the new one."""
    old = text.replace("\n", newline).encode()
    new = PackFile("file", old).with_row(NEW)
    assert is_subsequence(old, new)
    assert rows_of(new) == [*rows_of(old), NEW]
    assert (b"\r\n" in new) == (newline == "\r\n")
    assert new.count(b"\n") - new.count(b"\r\n") in (0, new.count(b"\n"))


def is_subsequence(old: bytes, new: bytes) -> bool:
    rest = iter(new)
    return all(letter in rest for letter in old)


def rows_of(content: bytes) -> list[Patch]:
    space: dict[str, object] = {}
    exec(compile(content, "file", "exec"), space)
    return list(space["PATCHES"])  # type: ignore[call-overload]


def test_the_row_is_the_last_and_the_diff_is_small() -> None:
    """A plain file gets one block of lines, and the missing words in the import."""
    old = (
        '"""Rows."""\n\nfrom patchkit import Patch, Role\n\n'
        'PATCHES = (\n    Patch(\n        name="a",\n    ),\n)\n'
    )
    new = PackFile("file", old.encode()).with_row(NEW).decode().splitlines()
    gone = [line for line in old.splitlines() if line not in new]
    assert gone == ["from patchkit import Patch, Role"]
    assert new[2] == "from patchkit import Edit, Patch, Role, Wrap"
    assert new[8:12] == ["    Patch(", '        name="new-one",', *new[10:12]]
    assert new[-2:] == ["    ),", ")"]


def test_quotes_and_indentation_are_those_of_the_file() -> None:
    """A file in single quotes and tabs gets its row so."""
    old = "from patchkit import Patch\n\nPATCHES = (\n\tPatch(name='a', requires=('up',)),\n)\n"
    new = PackFile("file", old.encode()).with_row(NEW).decode()
    assert "\tPatch(\n\t\tname='new-one',\n\t\tbody='patch_new',\n" in new


def test_words_that_have_other_names_keep_them() -> None:
    """An alias and a module of the vocabulary are used as the file does."""
    alias = "from patchkit import Patch as P, Wrap, Edit, Role\nPATCHES = ()\n"
    assert "    P(\n" in PackFile("file", alias.encode()).with_row(NEW).decode()
    module = "import patchkit as pk\nPATCHES = ()\n"
    new = PackFile("file", module.encode()).with_row(NEW).decode()
    assert "    pk.Patch(\n" in new
    assert "pk.Role.WORKER" in new
    assert rows_of(new.encode()) == [NEW]


def test_a_file_without_the_vocabulary_imports_it() -> None:
    """It comes below what is imported already, or below the docstring."""
    for head in ("", '"""Rows."""\n', '"""Rows."""\nimport os\n', "# a comment\n"):
        new = PackFile("file", f"{head}PATCHES = ()".encode()).with_row(NEW)
        assert rows_of(new) == [NEW]
        assert new.decode().count("from patchkit import Edit, Patch, Role, Wrap") == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PATCHES = [1]\n",
        "PATCHES = tuple(rows)\n",
        "PATCHES = (1,) + OTHERS\n",
        "PATCHES = 1, 2\n",
        "PATCHES = (1,)\nPATCHES += (2,)\n",
        "if here:\n    PATCHES = (1,)\n",
        "PATCHES = MINE = (1,)\n",
        "PATCHES = (\n",
        "PATCHES = (1,)\nPATCHES = (2,)\n",
    ],
)
def test_what_is_no_plain_tuple_is_refused(text: str) -> None:
    """It is one clear error, and nothing is guessed."""
    with pytest.raises(ScaffoldError, match=r"PATCHES|Python"):
        PackFile("file", text.encode()).with_row(NEW)


def test_a_name_that_others_come_after_is_free() -> None:
    """Only a row's own name is taken, in whatever way it is given."""
    text = "PATCHES = (row('mine'), Patch(name='two', after=('three',)))\n"
    file = PackFile("file", text.encode())
    assert [file.mentions(name) for name in ("mine", "two", "three")] == [True, True, False]


def test_the_vocabulary_is_patchkits() -> None:
    """What a row is written with can be imported from where its import says."""
    assert {"Patch", "Role", "Wrap", "Edit"} <= set(patchkit.__all__)
    assert isinstance(ast.parse(PackFile("f", b"PATCHES = ()").row(NEW)), ast.Module)

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from support.samples import pack_source, patch, row_source

from patchkit import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Edit,
    Provide,
    Replace,
    Role,
    Wrap,
)
from patchkit.core.rows.declaration import Change
from patchkit.core.rows.rules import check_patch
from patchkit.errors import DeclarationError
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REQUIREMENT = "a name with bounds such as 'vllm>=0.11,<0.13'"
TEXTS = "a tuple of strings"


def refusal(**fields: Any) -> DeclarationError:
    """The error of a good patch that some fields have made malformed."""
    with pytest.raises(DeclarationError) as caught:
        check_patch("my.pack", patch(**fields))
    return caught.value


@pytest.mark.parametrize(
    ("field", "value", "found", "expected"),
    [
        ("name", "Not_Kebab", "'Not_Kebab'", "kebab-case"),
        ("name", "", "''", "kebab-case"),
        ("name", None, "nothing", "kebab-case"),
        ("name", "two--dashes", "'two--dashes'", "kebab-case"),
        ("requires", (), "none", "at least one requirement"),
        ("requires", "vllm>=0.11", "str 'vllm>=0.11'", TEXTS),
        ("requires", None, "nothing", TEXTS),
        ("requires", (0.11,), "float 0.11", "a string"),
        ("requires", ("vllm>=>0.11",), "'vllm>=>0.11'", REQUIREMENT),
        ("requires", ("vllm 0.11",), "'vllm 0.11'", REQUIREMENT),
        ("requires", ("vllm @ https://example.org/v.whl",), "vllm @", REQUIREMENT),
        (
            "roles",
            {"driver"},
            "the unknown role 'driver'",
            "'main', 'engine-core', 'worker'",
        ),
        ("roles", {Role.MAIN, 3}, "the unknown role 3", "'main'"),
        ("roles", "main", "str 'main'", "a set such as {Role.MAIN}, of some of 'main'"),
        ("roles", set(), "set()", "some of 'main'"),
        ("roles", 3, "int 3", "some of 'main'"),
        ("changes", (), "none", "at least one change, such as Replace(…)"),
        (
            "changes",
            Replace("m:f", by="g"),
            "one Replace, as a comma is missing",
            "(Replace(…),)",
        ),
        ("changes", None, "nothing", "a tuple of changes"),
        ("after", "other", "str 'other'", TEXTS),
        ("after", (1,), "int 1", "a string"),
        ("conflicts", "other", "str 'other'", TEXTS),
        ("conflicts", ("a-patch",), "'a-patch'", "names of other patches"),
        ("why", None, "nothing", "a string"),
        ("upstream", ("a",), "tuple ('a',)", "a string"),
        ("sunset", 1, "int 1", "a string"),
        ("required", "no", "str 'no'", "True or False"),
        ("env", "NOT A NAME", "'NOT A NAME'", "a string, 'NAME' or 'NAME=value'"),
        ("env", 1, "int 1", "a string, 'NAME' or 'NAME=value'"),
        ("when", "not a name", "'not a name'", "the name of an object in the body"),
    ],
)
def test_a_malformed_field_is_named(
    field: str, value: object, found: str, expected: str
) -> None:
    """One error names pack, patch, field, what stands there and what should."""
    error = refusal(**{field: value})
    assert error.pack == "my.pack"
    assert error.patch == str(value if field == "name" else "a-patch")
    assert error.field == field
    assert found in error.found
    assert expected in error.expected


@pytest.mark.parametrize(
    ("change", "field", "found", "expected"),
    [
        ("m:f", "changes[1]", "str 'm:f'", "a change, such as Replace"),
        (Change(), "changes[1]", "Change(", "a change, such as Replace"),
        (
            Replace("no colon", by="g"),
            "changes[1] Replace target",
            "'no colon'",
            "module:qualname",
        ),
        (Replace("m", by="g"), "changes[1] Replace target", "'m'", "module:qualname"),
        (
            Replace("m:f:g", by="g"),
            "changes[1] Replace target",
            "'m:f:g'",
            "module:qualname",
        ),
        (Wrap(None, by="g"), "changes[1] Wrap target", "None", "module:qualname"),  # type: ignore[arg-type]
        (
            AfterImport("m:f", call="g"),
            "changes[1] AfterImport module",
            "'m:f'",
            "'module'",
        ),
        (
            BeforeImport("", call="g"),
            "changes[1] BeforeImport module",
            "''",
            "'module'",
        ),
        (
            Replace("m:f", by="a b"),
            "changes[1] Replace by",
            "'a b'",
            "an object in the body",
        ),
        (
            AddField("m:C", "x", "int", lambda: 1),
            "changes[1] AddField default",
            "<lambda>",
            "process",
        ),
        (
            AddField("m:C", "x", (i for i in ()), 1),
            "changes[1] AddField type",
            "generator",
            "literal",
        ),
        (
            AfterImport("m", call=print),
            "changes[1] AfterImport call",
            "print",
            "an object in",
        ),  # type: ignore[arg-type]
        (
            AfterImport("m", call="g", sets="m:f"),
            "changes[1] AfterImport sets",
            "str 'm:f'",
            "a tuple of strings",
        ),
        (
            AfterImport("m", call="g", sets=("m:f", 1)),  # type: ignore[arg-type]
            "changes[1] AfterImport sets",
            "int 1",
            "a string",
        ),
        (
            AfterImport("m", call="g", sets=("m",)),
            "changes[1] AfterImport sets",
            "'m'",
            "'module:qualname'",
        ),
        (
            AfterImport("m", call="g", sets=("__main__:f",)),
            "changes[1] AfterImport sets",
            "'__main__:f'",
            "python -m NAME",
        ),
        (
            AfterImport("m", call="g", sets=("m:f", "m:C.f", "m:f")),
            "changes[1] AfterImport sets",
            "m:f twice",
            "each target once",
        ),
        (Edit("m:f", old="", new="b"), "changes[1] Edit old", "str ''", "a string"),
        (
            Edit("m:f", old="a", new="b", count=0),
            "changes[1] Edit count",
            "int 0",
            "from 1 to 100,000",
        ),
        (
            AddField("m:C", "", "int", 0),
            "changes[1] AddField name",
            "str ''",
            "a name for a field",
        ),
        (
            AddField("m:C", "npu stats", "int", 0),
            "changes[1] AddField name",
            "npu stats",
            "a name for a field",
        ),
        (
            AddField("m:C", "stats", "list[int", 0),
            "changes[1] AddField type",
            "'list[int'",
            "a type, or the text of one",
        ),
        (Add("m:A['k'", by="g"), "changes[1] Add target", "m:A['k'", "module:qualname"),
        (Provide("m:f"), "changes[1] Provide module", "'m:f'", "'module'"),
        (
            Wrap("m:f", by="g", rebind=("a b",)),
            "changes[1] Wrap rebind",
            "'a b'",
            "a package",
        ),
        (
            Wrap("m:f", by="g", rebind=("m:T",)),
            "changes[1] Wrap rebind",
            "'m:T'",
            "a package",
        ),
        (
            Wrap("m:f", by="g", requires="ray"),
            "changes[1] Wrap requires",
            "str 'ray'",
            TEXTS,
        ),
        (
            Wrap("m:f", by="g", requires=("=1",)),
            "changes[1] Wrap requires",
            "'=1'",
            REQUIREMENT,
        ),
        (
            Wrap("m:f", by="g", requires=("a" * 20_000,)),
            "changes[1] Wrap requires",
            "a requirement of 20,000 characters",
            "one of up to 10,000",
        ),
        (
            Wrap("m:" + "f." * 2_000 + "f", by="g"),
            "changes[1] Wrap target",
            "m:f.f",
            "'module:qualname'",
        ),
        (
            Edit("m:f", old="a", new="", count=10**5_000),
            "changes[1] Edit count",
            "int whose repr raises ValueError",
            "a number from 1 to 100,000",
        ),
        (
            AddField("m:C", "n", "(" * 5_000, 0),
            "changes[1] AddField type",
            "'(((",
            "the text of one",
        ),
        (
            AddField("m:C", "n", "int", 10**5_000),
            "changes[1] AddField default",
            "more digits than Python writes",
            "what is the same in every process",
        ),
        (
            Wrap("m:f", by="g", when="a b"),
            "changes[1] Wrap when",
            "'a b'",
            "an object in the body",
        ),
        (
            Wrap("m:f", by="g", rebind="no"),  # type: ignore[arg-type]
            "changes[1] Wrap rebind",
            "str 'no'",
            "True, False or a tuple",
        ),
    ],
)
def test_a_malformed_change_is_named_with_its_number(
    change: object, field: str, found: str, expected: str
) -> None:
    """The field says which change of the row, and which field of the change."""
    error = refusal(changes=(Replace("m:f", by="g"), change))
    assert (error.pack, error.patch, error.field) == ("my.pack", "a-patch", field)
    assert found in error.found
    assert expected in error.expected


@pytest.mark.parametrize(
    "fields",
    [
        {"roles": None},
        {"roles": ["main", Role.WORKER]},
        {"requires": ["vllm"], "changes": [Replace("m:f", by="Outer.inner")]},
        {
            "body": None,
            "changes": [Edit("m:f", old="a", new=""), AddField("m:C", "n", "int", 0)],
        },
        {
            "changes": [
                Add("m:A['k']", by="new"),
                Provide("m.new"),
                Wrap("m:L[0].x", by="by"),
            ]
        },
        {"changes": [Replace("m:f", by="g", rebind=("plugin", "m.part"))]},
        {"requires": ("ray[default]>=2.35; python_version >= '3.10'", "vllm==0.*")},
        {"env": "NAME=with = sign", "when": "is_needed"},
        {"changes": [Edit("m:f", old="a", new="b", when="is_needed")]},
        {"after": {"one"}, "conflicts": frozenset({"two"}), "required": False},
    ],
)
def test_a_good_row_passes(fields: dict[str, Any]) -> None:
    """All forms that the contract allows are accepted."""
    check_patch("my.pack", patch(**fields))


def pack_refusal(name: str) -> DeclarationError:
    """The error of reading a pack."""
    with pytest.raises(DeclarationError) as caught:
        read_pack(name)
    return caught.value


@pytest.mark.parametrize(
    ("source", "found", "expected"),
    [
        ("", "nothing", "a tuple of Patch"),
        ("PATCHES = None", "nothing", "a tuple of Patch"),
        ("PATCHES = 'all'", "str 'all'", "a tuple of Patch"),
        ("PATCHES = ('one',)", "str 'one'", "a Patch"),
        (pack_source("Replace('m:f', by='g')"), "Replace(", "a Patch"),
    ],
)
def test_a_pack_without_a_tuple_of_patches_is_refused(
    write_pack: Callable[..., Path], source: str, found: str, expected: str
) -> None:
    """PATCHES is missing, or holds something else."""
    write_pack("odd_pack", source, bodies=())
    error = pack_refusal("odd_pack")
    assert (error.pack, error.patch, error.field) == ("odd_pack", None, "PATCHES")
    assert found in error.found
    assert error.expected == expected


def test_a_body_without_a_row_is_refused(write_pack: Callable[..., Path]) -> None:
    """A file that no row declares would never run, and nobody would notice."""
    write_pack("my_pack", pack_source(row_source()), bodies=("patch_a", "patch_lost"))
    error = pack_refusal("my_pack")
    assert (error.pack, error.field, error.found) == (
        "my_pack",
        "PATCHES",
        "no row for patch_lost.py",
    )


def test_a_row_without_a_body_is_refused(write_pack: Callable[..., Path]) -> None:
    """The row names a file that is not in its pack."""
    write_pack("my_pack", pack_source(row_source()), bodies=())
    error = pack_refusal("my_pack")
    assert (error.patch, error.field, error.expected) == (
        "a-patch",
        "body",
        "a file patch_a.py in the pack",
    )


@pytest.mark.parametrize(
    "body", ["'a'", "'patch_'", "'sub.patch_a'", "'patch_a.py'", "3"]
)
def test_a_body_is_called_patch_something(
    write_pack: Callable[..., Path], body: str
) -> None:
    """A body is a sibling module whose name starts with `patch_`."""
    write_pack("my_pack", pack_source(row_source(body=body)))
    error = pack_refusal("my_pack")
    assert (error.patch, error.field) == ("a-patch", "body")
    assert "patch_<module>" in error.expected


def test_a_body_is_named_without_its_pack(write_pack: Callable[..., Path]) -> None:
    """Of a body with the pack's name in front, the error says what is expected instead."""
    write_pack("my_pack", pack_source(row_source(body="'my_pack.patch_a'")))
    assert pack_refusal("my_pack").expected == "'patch_a', without the pack's name"


def test_a_pack_that_is_a_plain_module_is_refused(
    write_pack: Callable[..., Path], tmp_path: Path
) -> None:
    """A module has no folder that could hold bodies."""
    write_pack("unused_pack", "", bodies=())
    (tmp_path / "flat_pack.py").write_text(pack_source(row_source()))
    error = pack_refusal("flat_pack")
    assert (error.pack, error.field, error.found) == (
        "flat_pack",
        "package",
        "a plain module",
    )
    assert "a folder with __init__.py" in error.expected


def test_a_missing_comma_behind_the_only_row_is_told(
    write_pack: Callable[..., Path],
) -> None:
    """Brackets around one row make no tuple; the row as a whole is not printed."""
    source = pack_source(row_source()).replace(", )", ")")
    write_pack("my_pack", source)
    error = pack_refusal("my_pack")
    assert error.found == "one Patch, as a comma is missing behind it"
    assert error.expected == "a tuple, (Patch(…),)"


def test_several_rows_may_share_a_body(write_pack: Callable[..., Path]) -> None:
    """One file may serve two rows, for other versions or roles."""
    write_pack("my_pack", pack_source(row_source(), row_source(name="'b-patch'")))
    assert [row.name for row in read_pack("my_pack")] == ["a-patch", "b-patch"]


def test_a_pack_in_a_zip_is_read(
    write_pack: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack in a zip is read: a body need not be a file, as long as it can be imported."""
    write_pack("unused_pack", "", bodies=())
    archive = tmp_path / "packs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_pack/__init__.py", pack_source(row_source()))
        file.writestr("zipped_pack/patch_a.py", "")
    monkeypatch.syspath_prepend(str(archive))
    assert [row.body for row in read_pack("zipped_pack")] == ["zipped_pack.patch_a"]


def test_the_files_of_a_row_must_be_in_its_pack(
    write_pack: Callable[..., Path],
) -> None:
    """A file that `data` names must be in the pack's folder or below it."""
    folder = write_pack(
        "my_pack", pack_source(row_source(data="('table.json', 'more/b.json')"))
    )
    (folder / "more").mkdir()
    (folder / "table.json").touch()
    error = pack_refusal("my_pack")
    assert (error.patch, error.field) == ("a-patch", "data")
    assert error.found == "'more/b.json', which is not there"
    (folder / "more" / "b.json").touch()
    (pack_row,) = read_pack("my_pack")
    assert pack_row.patch.data == ("table.json", "more/b.json")


def test_a_file_of_a_row_in_a_zip_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack that is imported from a zip may not name files in `data`."""
    with zipfile.ZipFile(tmp_path / "packs.zip", "w") as file:
        file.writestr(
            "zip_pack/__init__.py", pack_source(row_source(data="('t.json',)"))
        )
        file.writestr("zip_pack/patch_a.py", "")
        file.writestr("zip_pack/t.json", "")
    monkeypatch.syspath_prepend(str(tmp_path / "packs.zip"))
    assert pack_refusal("zip_pack").found == "'t.json', which is not there"


@pytest.mark.parametrize("name", ["'/etc/hosts'", "'../a.json'", "'a/../../b'", "''"])
def test_a_file_outside_of_the_pack_is_refused(
    write_pack: Callable[..., Path], name: str
) -> None:
    """A path in `data` that is empty or leads out of the pack's folder is refused."""
    write_pack("my_pack", pack_source(row_source(data=f"({name},)")))
    assert "inside it" in pack_refusal("my_pack").expected


def test_files_of_a_row_that_are_one_text_are_refused(
    write_pack: Callable[..., Path],
) -> None:
    """`data` that is a string, and not a tuple of strings, is refused."""
    write_pack("my_pack", pack_source(row_source(data="'table.json'")))
    assert pack_refusal("my_pack").expected == TEXTS

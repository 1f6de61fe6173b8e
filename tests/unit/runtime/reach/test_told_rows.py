"""What `patchkit run` tells processes of rows, for where a pack cannot be imported."""

from __future__ import annotations

import json

import pytest
from support.samples import row

from patchkit import AfterImport, Edit, Provide, Role
from patchkit.errors import DeclarationError
from patchkit.registry import Registry
from patchkit.runtime.reach.told_rows import VARIABLE, environment_of, stand_ins
from patchkit.settings import Settings

MISSING = DeclarationError("pack", None, "import", "nothing", "a package")


def test_a_stand_in_has_what_decides_where_its_row_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Name, body, versions, roles, variable and modules are the row's; one that fails is told."""
    told = row(
        body=None,
        required=False,
        env="FAST",
        changes=(
            Edit("up.one:f", old="1", new="2", requires=("up<2",)),
            Provide("up.two"),
        ),
    )
    for name, text in environment_of([told]).items():
        monkeypatch.setenv(name, text)
    (stand_in,) = stand_ins("pack", MISSING)
    assert (stand_in.pack, stand_in.name, stand_in.roles) == (
        "pack",
        "a-patch",
        {Role.MAIN},
    )
    patch = stand_in.patch
    assert (patch.requires, patch.required, patch.env) == (
        ["vllm>=0.11,<0.34"],
        False,
        "FAST",
    )
    assert patch.body  # so that it cannot be made without the pack
    assert list(patch.changes) == [
        AfterImport("up.one", "", requires=["up<2"]),
        Provide("up.two", requires=[]),
    ]


def test_a_pack_that_is_missing_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line has the pack's error, and what it means; other packs are left out."""
    rows = [row("one"), row("two"), row("three", pack="other")]
    monkeypatch.setenv(VARIABLE, environment_of(rows)[VARIABLE])
    assert [stand_in.name for stand_in in stand_ins("pack", MISSING)] == ["one", "two"]
    (line,) = capsys.readouterr().err.splitlines()
    assert "pack pack, import: found nothing" in line
    assert line.endswith("as long as it imports no module that the pack patches")


def test_a_pack_of_which_nothing_is_told_is_its_error() -> None:
    """Without what `run` tells, a process that cannot import a pack cannot go on."""
    with pytest.raises(DeclarationError, match="pack pack, import: found nothing"):
        stand_ins("pack", MISSING)


def test_nothing_is_told_of_own_packs_and_of_too_many_rows() -> None:
    """Patchkit's own packs are where patchkit is; a variable has a limit."""
    assert environment_of([row(pack="patchkit.platform")]) == {}
    rows = [row(f"patch-{number}") for number in range(300)]
    assert len(json.loads(environment_of(rows)[VARIABLE])) == 300
    assert environment_of(rows * 4) == {}


@pytest.mark.parametrize("text", ["import no_such_module", "from patchkit import New"])
def test_only_a_pack_that_lacks_an_import_has_stand_ins(
    write_pack: object, text: str
) -> None:
    """A pack that raises anything else is broken wherever it is read."""
    assert callable(write_pack)
    write_pack("lacking", f"{text}\nPATCHES = ()\n")
    write_pack("broken", "PATCHES = 1 / 0\n")
    stand_in = row("stand-in")
    registry = Registry.collect(Settings(), ["lacking"], lambda *_: [stand_in])
    assert stand_in in list(registry)
    with pytest.raises(DeclarationError, match="ZeroDivisionError"):
        Registry.collect(Settings(), ["broken"], lambda *_: [stand_in])

"""Packs that `patchkit new` makes, adds rows to, and shows in a dry run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.new_project import new, project, rows, world
from patchkit.cli import main

__all__ = ["project", "world"]


@pytest.mark.processes
def test_a_pack_is_made_and_grows(capsys: pytest.CaptureFixture[str]) -> None:
    """The first patch makes the package; the second adds a row; both are listed and checked."""
    assert new("one", "--target", "up.mod:f") == 0
    words = ["--target", "up.mod:C", "--body", "patch_c", "--role", "worker"]
    assert new("two", *words) == 0
    assert list(rows()) == ["one", "two"]
    capsys.readouterr()
    words = ["--patches", "my_pack", "--releases", "up==1.2", "--format", "json"]
    assert main(["check", *words]) == 1
    data = json.loads(capsys.readouterr().out)
    codes = {finding["code"] for finding in data["findings"]} - {"PK202"}
    assert codes == {"PK511", "PK512", "PK513"}
    assert data["grid"] == {"one": {"up 1.2": "ok"}, "two": {"up 1.2": "ok"}}


def test_a_second_patch_of_a_module_has_a_body_of_its_own_name() -> None:
    """Where a body of the module's name is there, the next one is named after its patch."""
    assert new("one", "--target", "up.mod:f") == 0
    assert new("the-second", "--target", "up.mod:C") == 0
    assert sorted(file.name for file in Path("my_pack").glob("patch_*")) == [
        "patch_mod.py",
        "patch_the_second.py",
    ]
    assert "from patchkit import Patch, Replace, Role, Wrap\n" in (
        Path("my_pack/__init__.py").read_text()
    )


@pytest.mark.processes
def test_a_project_is_told_to_name_its_pack(capsys: pytest.CaptureFixture[str]) -> None:
    """`new` prints lines to paste into pyproject.toml, unless that names the pack already. Then no
    command needs `--patches`.
    """
    words = ["--target", "up.mod:f", "--role", "main", "--releases", "up==1.2"]
    assert new("one", "--target", "up.mod:f") == 0
    out = capsys.readouterr().out
    assert '[tool.patchkit]\n   packs = ["my_pack"]' in out
    Path("pyproject.toml").write_text('[tool.patchkit]\npacks = ["my_pack"]\n')
    assert main(["new", "two", *words]) == 0
    out = capsys.readouterr().out
    assert "--patches" not in out
    assert "[tool.patchkit]" not in out
    assert list(rows()) == ["one", "two"]


@pytest.mark.parametrize(
    "pack", [(), ("--pack", "flat_pack"), ("--pack", "src/new_pack")]
)
@pytest.mark.parametrize("init", [None, "", "\n"])
def test_a_pack_that_the_project_names_first_is_made(
    pack: tuple[str, ...], init: str
) -> None:
    """`new` makes a pack that pyproject.toml names, and whose folder is missing or empty."""
    Path("pyproject.toml").write_text('[tool.patchkit]\npacks = ["flat_pack"]\n')
    if init is not None:
        Path("flat_pack").mkdir()
        Path("flat_pack/__init__.py").write_text(init)
    words = ["--target", "up.mod:f", "--role", "main", "--releases", "up==1.2"]
    assert main(["new", "one", *words, *pack]) == 0
    folder = Path(pack[-1] if pack else "flat_pack")
    assert 'name="one"' in (folder / "__init__.py").read_text()
    assert not Path("src/__init__.py").exists()
    assert main(["new", "two", *words, *pack]) == 0


def test_a_pack_by_its_name_goes_into_src_where_that_is_the_layout() -> None:
    """A new pack goes into `src` where beside that there are only tests, which are no pack."""
    Path("src").mkdir()
    Path("tests").mkdir()
    Path("tests/__init__.py").touch()
    assert new("one", "--target", "up.mod:f") == 0
    assert Path("src/my_pack/patch_mod.py").exists()
    assert not Path("my_pack").exists()


def test_rows_that_are_made_otherwise_are_left_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where PATCHES is no plain tuple, the row is printed to paste, and the body is written."""
    Path("my_pack").mkdir()
    text = "from patchkit import Patch\n\nPATCHES = tuple(Patch(**one) for one in ())\n"
    Path("my_pack/__init__.py").write_text(text)
    assert new("p", "--target", "up.mod:f") == 0
    out = capsys.readouterr().out
    assert 'row\nPatch(\n    name="p",' in out
    assert "paste the row into my_pack/__init__.py: " in out
    assert Path("my_pack/patch_mod.py").exists()
    assert Path("my_pack/__init__.py").read_text() == text


def test_a_dry_run_shows_all_and_writes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--dry-run` prints the files that would be written, on a page or as JSON, and writes none."""
    assert new("p", "--target", "up.mod:f", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "would create  my_pack/patch_mod.py" in out
    assert "def around_f(" in out
    assert new("p", "--target", "up.mod:f", "--dry-run", "--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == ["patch", "pack", "row", "refusal", "written", "files", "next"]
    assert [(file["what"], file["action"]) for file in data["files"]] == [
        ("body", "created"),
        ("test", "created"),
        ("row", "created"),
    ]
    assert list(Path().iterdir()) == []


def test_a_dry_run_shows_what_an_edit_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of a file that exists, `--dry-run` shows only the difference."""
    assert new("p", "--target", "up.mod:f") == 0
    capsys.readouterr()
    assert new("q", "--target", "up.mod:C", "--body", "patch_c", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "-from patchkit import Patch, Role, Wrap" in lines
    assert '+        name="q",' in lines
    assert '         name="p",' not in lines

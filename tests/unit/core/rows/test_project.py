from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from support.odd_places import ending_in, hole

from patchkit.core.rows.project import Project, entry_points_of, misnamed_section
from patchkit.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, text: str) -> Path:
    """Write a `pyproject.toml`."""
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


def test_every_key_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key lands in its field; a lock is beside the file that names it."""
    file = write(
        tmp_path,
        """[tool.patchkit]
        packs = ["one", "two.deep"]
        releases = ["vllm>=0.20,<0.34", "ray"]
        lock = "kept/patchkit.lock"
        ignore = ["PK304"]
        accept = ["PK104 vllm.x:y", "PK402 my-patch"]
        """,
    )
    monkeypatch.chdir("/")
    assert Project.read(tmp_path) == Project(
        file,
        ("one", "two.deep"),
        ("vllm>=0.20,<0.34", "ray"),
        str(tmp_path / "kept/patchkit.lock"),
        ("PK304",),
        ("PK104 vllm.x:y", "PK402 my-patch"),
    )


def test_the_nearest_file_with_a_section_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest file above with the section is read; others, and no TOML, are passed over."""
    write(tmp_path, "[tool.patchkit]\npacks = ['outer']\n")
    inner = tmp_path / "inner" / "deep"
    inner.mkdir(parents=True)
    write(inner, "[project]\nname = 'patchkit-like'\n")
    write(inner.parent, "this is [no toml")
    monkeypatch.chdir(inner)
    assert Project.read().packs == ("outer",)


def test_without_a_file_nothing_is_asked_for(tmp_path: Path) -> None:
    """Without a file, or with a file without the section, a project is empty."""
    assert Project.read(tmp_path) == Project()
    write(tmp_path, "tool = 'patchkit'\n")
    assert Project.read(tmp_path) == Project()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pack = ['a']", ["unknown key 'pack'", "did you mean packs?"]),
        ("zzz = 1", ["unknown key 'zzz'", "packs, releases, lock, ignore, accept"]),
        ("file = 'x'", ["unknown key 'file'"]),
        ("packs = 'mine'", ["packs: found 'mine'", "a list of modules"]),
        ("packs = ['my-pack']", ["packs: found 'my-pack'", "a list of modules"]),
        ("packs = [3]", ["packs: found 3"]),
        ("releases = 'vllm'", ["releases: found 'vllm'", "a list of requirements"]),
        ("releases = ['']", ["releases: found ''"]),
        ("lock = ['a']", ["lock: found ['a']", "expected a file"]),
        ("lock = ''", ["lock: found ''"]),
        ("ignore = ['304']", ["ignore: found '304'", "a list of codes"]),
        (
            "accept = ['PK104']",
            ["accept: found 'PK104'", "'CODE TARGET' or 'CODE PATCH'"],
        ),
        ("packs = [", ["no TOML"]),
    ],
)
def test_what_it_may_not_hold_names_file_and_field(
    line: str, words: list[str], tmp_path: Path
) -> None:
    """A wrong key or value is one error: the file, the field, what stands there, and what may."""
    file = write(tmp_path, f"[tool.patchkit]\n{line}\n")
    with pytest.raises(SettingsError) as raised:
        Project.read(tmp_path)
    text = str(raised.value)
    assert text.startswith(str(file))
    for word in words:
        assert word in text


def test_a_section_that_is_no_table_is_refused(tmp_path: Path) -> None:
    """A `tool.patchkit` that is no table is an error that asks for a table."""
    write(tmp_path, "[tool]\npatchkit = 1\n")
    with pytest.raises(
        SettingsError, match=r"tool\.patchkit: found 1, expected a table"
    ):
        Project.read(tmp_path)


def test_packages_that_hold_rows_are_found_by_their_text(tmp_path: Path) -> None:
    """At most two deep, in the project or its `src`; patchkit's own are left out."""
    write(tmp_path, "[tool.patchkit]\n")
    texts = {
        "mine": "PATCHES = ()\n",
        "src/deep/rows": "PATCHES: tuple = ()\n",
        "a/b/c": "PATCHES = ()\n",
        "other": "from mine import PATCHES\n",
        "not-a-name": "PATCHES = ()\n",
        "patchkit/worker": "PATCHES = ()\n",
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text(text)
    assert Project.read(tmp_path).packs_here() == ["mine", "deep.rows"]


def test_entry_points_are_read_from_the_project(tmp_path: Path) -> None:
    """What is declared counts, installed or not; without a file there is nothing."""
    entries = '[project.entry-points."patchkit.patches"]\nmine = "mine.rows"\n'
    write(tmp_path, f"[tool.patchkit]\n{entries}")
    project = Project.read(tmp_path)
    assert entry_points_of(project, "patchkit.patches") == ["mine.rows"]
    assert entry_points_of(project, "patchkit.processes") == []
    assert entry_points_of(Project(), "patchkit.patches") == []


@pytest.mark.parametrize(
    "value", ["[" * 20_000, "{a=" * 5_000], ids=["arrays", "tables"]
)
def test_a_value_that_is_nested_deep_is_no_toml(tmp_path: Path, value: str) -> None:
    """It is refused in one line, also where it belongs to another tool."""
    file = write(tmp_path, f"x = {value}\n[tool.patchkit]\n")
    with pytest.raises(SettingsError, match="found no TOML") as caught:
        Project.read(tmp_path)
    assert str(file) in str(caught.value)


def test_a_key_of_thousands_of_parts_is_refused(tmp_path: Path) -> None:
    """The time to read it grows with their square."""
    write(tmp_path, "a" + ".a" * 100_000 + " = 1\n[tool.patchkit]\n")
    with pytest.raises(SettingsError, match="found 100,000 dots in a line"):
        Project.read(tmp_path)


def test_a_pack_of_a_deleted_folder_is_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one whose name is too long for a file."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert Project().folders_hidden(["json", "x" * 5_000]) == []
    assert Project().folders_of(["json", "x" * 5_000]) == []


def test_a_pipe_is_no_file_of_settings(tmp_path: Path) -> None:
    """It is not waited for."""
    os.mkfifo(tmp_path / "pyproject.toml")
    started = time.monotonic()
    with ending_in(60):  # by an OSError, which may be taken for that of the file
        assert Project.read(tmp_path) == Project()
    assert time.monotonic() - started < 7


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    """Nothing of it is read."""
    hole(tmp_path / "pyproject.toml")
    with pytest.raises(SettingsError, match="expected at most 1,048,576"):
        Project.read(tmp_path)


@pytest.mark.parametrize(
    "table",
    ["[tool.patch-kit]", "[patchkit]", "[tool.Patch_Kit]", '[tools."patchkit"]'],
)
def test_a_table_with_almost_the_name_is_told(table: str, tmp_path: Path) -> None:
    """Else its settings would be left unread without a word."""
    file = write(tmp_path, f"[project]\nname = 'a'\n{table}\npacks = ['p']\n")
    assert misnamed_section(tmp_path) == (
        f"{file}: found {table}, expected [tool.patchkit]: it is not read"
    )


@pytest.mark.parametrize(
    "text",
    [
        "[project]\nname = 'patch-kit'\n",
        "[tool.patchkit]\npacks = ['p']\n[tool.patch-kit]\n",
        "[tool.dispatchkit]\n",
        "# [tool.patch-kit]\n",
    ],
)
def test_other_tables_are_not_told(text: str, tmp_path: Path) -> None:
    """The one that is read makes the others somebody else's; the nearest file alone counts."""
    (tmp_path / "inner").mkdir()
    write(tmp_path, "[tool.patch-kit]\n")
    write(tmp_path / "inner", text)
    assert misnamed_section(tmp_path / "inner") == ""

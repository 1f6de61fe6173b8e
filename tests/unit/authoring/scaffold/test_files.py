from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from patchkit.authoring.scaffold.files import PlannedFile, write
from patchkit.authoring.scaffold.plan import place_of
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def all_in(folder: Path) -> dict[str, bytes]:
    """The content of each file in a folder, by its path."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_all_is_written(tmp_path: Path) -> None:
    """New files come with their folders; an edited one keeps its mode, and nothing is left over."""
    rows = tmp_path / "__init__.py"
    rows.write_bytes(b"old")
    rows.chmod(0o640)
    write(
        [
            PlannedFile("body", tmp_path / "a/b/c.py", b"new"),
            PlannedFile("row", rows, b"two", b"old"),
        ]
    )
    assert all_in(tmp_path) == {"a/b/c.py": b"new", "__init__.py": b"two"}
    assert stat.S_IMODE(rows.stat().st_mode) == 0o640


@pytest.mark.parametrize("fault", ["changed", "unwritable"])
def test_what_was_edited_is_given_back(fault: str, tmp_path: Path) -> None:
    """If one of several edits cannot be made, those before it are taken back."""
    rows, body = tmp_path / "__init__.py", tmp_path / "patch_a.py"
    rows.write_bytes(b"old")
    body.write_bytes(b"changed" if fault == "changed" else b"old")
    if fault == "unwritable":
        (tmp_path / ".patch_a.py.patchkit").mkdir()
    before = all_in(tmp_path)
    files = [
        PlannedFile("row", rows, b"two", b"old"),
        PlannedFile("body", body, b"two", b"old"),
    ]
    with pytest.raises(ScaffoldError, match="nothing was written"):
        write(files)
    assert all_in(tmp_path) == before


def test_an_interrupt_leaves_all_as_it_was(tmp_path: Path) -> None:
    """An interrupt between two files takes the first one back."""
    rows = tmp_path / "__init__.py"
    rows.write_bytes(b"old")

    def files() -> Iterator[PlannedFile]:
        yield PlannedFile("row", rows, b"two", b"old")
        assert rows.read_bytes() == b"two"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(files())
    assert all_in(tmp_path) == {"__init__.py": b"old"}


@pytest.mark.parametrize("fault", ["there", "changed", "folder"])
def test_a_fault_leaves_nothing_behind(fault: str, tmp_path: Path) -> None:
    """A file that exists, a changed one, a folder that is a file: all is taken back."""
    rows = tmp_path / "__init__.py"
    rows.write_bytes(b"changed" if fault == "changed" else b"old")
    (tmp_path / "there").write_bytes(b"theirs")
    before = all_in(tmp_path)
    test = {"there": "there", "folder": "there/test.py"}.get(fault, "tests/test.py")
    with pytest.raises(ScaffoldError, match=r"there|meanwhile"):
        write(
            [
                PlannedFile("body", tmp_path / "a/b/c.py", b"new"),
                PlannedFile("test", tmp_path / test, b"new"),
                PlannedFile("row", rows, b"two", b"old"),
            ]
        )
    assert all_in(tmp_path) == before
    assert not (tmp_path / "a").exists()


def nowhere(_: str) -> None:
    """A finder of packages to which none is installed: it returns None."""


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("my_pack", "my_pack"),
        ("my_pack.worker", "my_pack.worker"),
        ("my_pack/worker", "my_pack.worker"),
        ("src/my_pack/platform", "my_pack.platform"),
        ("there/worker", "there.worker"),
        ("there", "there"),
    ],
)
def test_a_folder_or_a_name_is_a_module(text: str, module: str, tmp_path: Path) -> None:
    """A module's name includes the outer folders that are packages, or that do not exist yet."""
    (tmp_path / "src").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "__init__.py").touch()
    place = place_of(text, tmp_path, nowhere)
    assert place.module == module
    assert place.folder == tmp_path.joinpath(*text.replace(".", "/").split("/"))
    assert place.root == tmp_path / ("src" if text.startswith("src") else "")


@pytest.mark.parametrize("text", ["a" * 300, f"{'a' * 300}/b", "a/" * 3_000])
def test_a_name_that_no_folder_can_have_is_refused(text: str, tmp_path: Path) -> None:
    """The error says why, and quotes only the start of a long name."""
    with pytest.raises(
        ScaffoldError, match=r"File name too long.*, expected"
    ) as caught:
        place_of(text, tmp_path, nowhere)
    assert len(str(caught.value)) < 300


def test_a_long_name_in_dots_is_one_of_folders_in_folders(tmp_path: Path) -> None:
    """Each of them has a name that a folder can have."""
    names = ["a" * 100, "b" * 100, "c" * 100]
    place = place_of(".".join(names), tmp_path, nowhere)
    assert place.folder == tmp_path.joinpath(*names)


def test_src_is_no_package_before_it_is_there_either(tmp_path: Path) -> None:
    """A folder `src` that is to be made holds packages, and is none."""
    place = place_of("src/mine/worker", tmp_path, nowhere)
    assert place.module == "mine.worker"
    assert place.new_parents == [tmp_path / "src/mine/__init__.py"]


def test_packages_around_it_are_made(tmp_path: Path) -> None:
    """Each folder above the pack, up to its top package, becomes a package."""
    place = place_of("a.b.worker", tmp_path, nowhere)
    assert place.new_parents == [
        tmp_path / "a/__init__.py",
        tmp_path / "a/b/__init__.py",
    ]


def test_an_importable_pack_lies_where_it_is_imported_from(tmp_path: Path) -> None:
    """The folder of an importable pack is that of its file; a plain module is refused."""
    init_file = tmp_path / "elsewhere" / "mine" / "__init__.py"
    assert place_of("mine", tmp_path, lambda _: init_file).folder == init_file.parent
    with pytest.raises(ScaffoldError, match="expected a package"):
        place_of("mine", tmp_path, lambda _: tmp_path / "mine.py")


@pytest.mark.parametrize("text", ["a-b/c-d", "there.txt", "src"])
def test_what_cannot_be_imported_is_refused(text: str, tmp_path: Path) -> None:
    """A folder that is no name, a file, and a folder of packages are errors that say so."""
    (tmp_path / "there.txt").touch()
    with pytest.raises(ScaffoldError, match="expected a "):
        place_of(text, tmp_path, nowhere)

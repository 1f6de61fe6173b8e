from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import packages, venvs

from patchkit.runtime.bootstrap import install as bootstrap
from patchkit.runtime.bootstrap.install import BootstrapError, install, look, remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.venvs import Venv

    Shut = tuple[Path, Callable[[], None]]

world = packages.world
environment = venvs.environment

NAMES = ["_patchkit_bootstrap.py", "patchkit-bootstrap.pth", "patchkit-bootstrap.start"]


def names(folder: Path) -> list[str]:
    """Return the names of what is in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def shut() -> Iterator[Shut]:
    """A folder, and what keeps this process, even root's, from writing there."""
    user = os.geteuid()
    # Pytest's own are closed to other users.
    with tempfile.TemporaryDirectory() as name:

        def close() -> None:
            Path(name).chmod(0o555)
            if user == 0:
                os.seteuid(65534)

        try:
            yield Path(name), close
        finally:
            os.seteuid(user)
            Path(name).chmod(0o755)


# -- install -----------------------------------------------------------------------------------


def test_an_empty_folder_gets_three_files(tmp_path: Path) -> None:
    """A `.pth`, a `.start` and the module that both name are written, and nothing beside them."""
    assert look(tmp_path).state == "absent"
    assert install(tmp_path) is True
    assert names(tmp_path) == NAMES
    assert look(tmp_path).state == "installed"
    assert set(look(tmp_path).files.values()) == {"installed"}


def test_installing_again_touches_nothing(tmp_path: Path) -> None:
    """The second time says that nothing has changed, and the files are the same ones."""
    install(tmp_path)
    before = [(tmp_path / name).stat().st_ino for name in NAMES]
    assert install(tmp_path) is False
    assert [(tmp_path / name).stat().st_ino for name in NAMES] == before


def test_the_pth_is_a_comment_and_one_import_line(tmp_path: Path) -> None:
    """`site` takes any other line for a folder, and reads the file in the locale's encoding."""
    install(tmp_path)
    text = (tmp_path / "patchkit-bootstrap.pth").read_text("ascii")
    comment, line = text.splitlines()
    assert comment.startswith("#")
    assert line.startswith("import os; os.environ.get(")


def test_the_start_is_a_comment_and_one_entry_point(tmp_path: Path) -> None:
    """The entry point is `module:function`, as in PEP 829, of the module beside the `.start`."""
    install(tmp_path)
    text = (tmp_path / "patchkit-bootstrap.start").read_text("ascii")
    comment, line = text.splitlines()
    assert comment.startswith("#")
    assert line == "_patchkit_bootstrap:start"


@pytest.mark.parametrize("name", NAMES)
def test_an_older_text_is_brought_up_to_date(tmp_path: Path, name: str) -> None:
    """What an older patchkit has written is recognised by its mark, and replaced."""
    install(tmp_path)
    (tmp_path / name).write_text(f"# {bootstrap.MARK}\nimport old\n")
    assert look(tmp_path).state == "outdated"
    assert install(tmp_path) is True
    assert look(tmp_path).state == "installed"


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_written_again(tmp_path: Path, name: str) -> None:
    """A bootstrap that lacks a file is incomplete; installing it again writes the file."""
    install(tmp_path)
    (tmp_path / name).unlink()
    assert look(tmp_path).state == "incomplete"
    assert install(tmp_path) is True
    assert names(tmp_path) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("action", [install, remove])
def test_anothers_file_is_left_alone(tmp_path: Path, name: str, action: object) -> None:
    """A file without our mark stops install and remove: nothing is changed, and it is named."""
    install(tmp_path)
    (tmp_path / name).write_text("import theirs\n")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert look(tmp_path).state == "foreign"
    with pytest.raises(BootstrapError, match="not written by patchkit") as caught:
        action(tmp_path)  # type: ignore[operator]
    assert name in str(caught.value)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_of_that_name_is_anothers(tmp_path: Path) -> None:
    """A folder that has the name of one of our files stops the install: nothing is written."""
    (tmp_path / NAMES[0]).mkdir()
    with pytest.raises(BootstrapError, match=NAMES[0]):
        install(tmp_path)
    assert names(tmp_path) == [NAMES[0]]


def test_a_folder_that_cannot_be_written_is_told_with_the_way_out(shut: Shut) -> None:
    """The error gives the reason and what works without a bootstrap; nothing is written."""
    folder, close = shut
    close()
    with pytest.raises(BootstrapError) as caught:
        install(folder)
    for text in (str(folder), "Permission denied", "patchkit run --", "PYTHONPATH="):
        assert text in str(caught.value)
    assert names(folder) == []


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_disk_that_fills_up_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Whichever file no longer fits, the older bootstrap is still whole."""
    install(tmp_path, "/older")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    calls = iter(range(1, 4))
    write_bytes = Path.write_bytes

    def write(file: Path, data: bytes) -> None:
        write_bytes(file, data[:10])
        if next(calls) == failing:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(BootstrapError, match="No space left"):
        install(tmp_path, "/newer")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_many_at_once_agree(tmp_path: Path) -> None:
    """Nodes that share a disk install at the same time: each succeeds, and the result is whole."""
    barrier = threading.Barrier(8)
    errors: list[Exception] = []

    def work() -> None:
        barrier.wait(10)
        try:
            install(tmp_path)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert names(tmp_path) == NAMES
    assert look(tmp_path).state == "installed"


# -- where patchkit lies -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "location", ["/a b/c", '/it\'s "q"\\1\n', "/caf\u00e9", "/\udcff"]
)
def test_a_location_is_recorded_whatever_it_holds(
    tmp_path: Path, location: str
) -> None:
    """The module stays ASCII and valid, and gives the same location back."""
    install(tmp_path, location)
    text = (tmp_path / NAMES[0]).read_text("ascii")
    scope: dict[str, object] = {"__name__": "module"}
    exec(text, scope)
    assert scope["LOCATION"] == location
    assert look(tmp_path).location == location
    assert look(tmp_path).state == "installed"


def test_another_location_is_a_change(tmp_path: Path) -> None:
    """Installing from elsewhere, or once patchkit is installed, records the new state."""
    install(tmp_path, "/one")
    assert install(tmp_path, "/two") is True
    assert look(tmp_path).location == "/two"
    assert install(tmp_path) is True
    assert look(tmp_path).location is None


@pytest.mark.processes
def test_a_python_is_asked_whether_it_finds_patchkit_alone(
    environment: Venv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patchkit that is found by PYTHONPATH only does not count: processes to be armed may lack
    the variable.
    """
    monkeypatch.setattr(sys, "executable", environment.python)
    assert bootstrap.location_found_alone() == str(packages.REPOSITORY)
    environment.finds(*venvs.DEPENDENCIES)
    monkeypatch.setenv("PYTHONPATH", str(packages.REPOSITORY))
    assert bootstrap.location_found_alone() is None


@pytest.mark.processes
def test_a_python_that_cannot_be_asked_finds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where `sys.executable` cannot be run, as in an embedded Python, nothing is found."""
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert bootstrap.location_found_alone() is None


def test_the_folder_is_one_whose_pth_files_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder whose `.pth` files Python does not read is refused."""
    assert bootstrap.site_folder().is_dir()
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(BootstrapError, match=r"reads no \.pth files there"):
        bootstrap.site_folder()


# -- remove ------------------------------------------------------------------------------------


def test_removing_leaves_what_was_there_before(tmp_path: Path) -> None:
    """All that was written goes, the bytecode too; what others have there stays."""
    (tmp_path / "__pycache__").mkdir()
    for name in (
        "other.pth",
        "_patchkit.py",
        ".x.tmp",
        "__pycache__/other.cpython-311.pyc",
    ):
        (tmp_path / name).write_text("import x\n")
    before = sorted(tmp_path.rglob("*"))
    install(tmp_path)
    (tmp_path / "__pycache__" / "_patchkit_bootstrap.cpython-311.pyc").touch()
    (tmp_path / "__pycache__" / "_patchkit_bootstrap.cpython-311.pyc.139").touch()
    (tmp_path / "x").write_text("x")
    assert remove(tmp_path) is True
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "x"])


def test_a_cache_folder_of_our_own_goes(tmp_path: Path) -> None:
    """A `__pycache__` that had only our bytecode is removed too."""
    install(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "_patchkit_bootstrap.cpython-310.pyc").touch()
    remove(tmp_path)
    assert names(tmp_path) == []


def test_removing_what_is_not_there_says_so(tmp_path: Path) -> None:
    """`remove` returns False where nothing is installed, and removes an incomplete bootstrap."""
    assert remove(tmp_path) is False
    install(tmp_path)
    (tmp_path / NAMES[1]).unlink()
    assert remove(tmp_path) is True
    assert remove(tmp_path) is False


def test_what_cannot_be_removed_is_told(shut: Shut) -> None:
    """One error gives the reason, and the bootstrap is still whole."""
    folder, close = shut
    install(folder)
    close()
    with pytest.raises(BootstrapError, match=r"cannot be removed: Permission denied"):
        remove(folder)
    assert look(folder).state == "installed"

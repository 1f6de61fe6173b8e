"""Files that are no files: in folders of wheels, in caches, in trees; and secrets in settings."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from analysis.upstream.server import index_of
from support.odd_places import PLACES, ending_in

from cli import hostile
from cli.test_hostile import SECRET, others_are_told, wheels, world
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["wheels", "world"]

LIMIT = 20.0
NAME = "up-2.0-py3-none-any.whl"


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    """End a test that waits for ever."""
    with ending_in(int(LIMIT)):
        yield


@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_wheel_is_one_finding(
    wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """In a folder of wheels, whatever has the name of one is read, or told at once."""
    PLACES[name](wheels / NAME)
    findings = others_are_told(capsys)
    assert all(finding["code"] == "PK001" or finding for finding in findings)


@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_source_distribution_is_one_finding(
    wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """So it is with the name of a source distribution."""
    PLACES[name](wheels / "up-2.0.tar.gz")
    others_are_told(capsys)


@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_page_of_a_folder_is_told(
    wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The `index.html` of a folder may be a pipe, or have no end."""
    PLACES[name](wheels / "index.html")
    started = time.monotonic()
    assert main(["check", "--releases", "up"]) in (0, 1, 2)
    assert time.monotonic() - started < LIMIT
    assert "Traceback" not in capsys.readouterr().err


METADATA = "up-2.0.dist-info/METADATA"
MEMBERS: dict[str, dict[str, bytes]] = {
    "parent": {"../up/mod.py": b""},
    "absolute": {"/etc/passwd": b""},
    "drive": {"C:/up/mod.py": b""},
    "backslash": {"up\\mod.py": b""},
    "newline": {"up/a\nb.py": b""},
    "escape": {"up/\x1b[31mred.py": b""},
    "bidi": {"up/\u202eyp.py": b""},
    "long name": {f"up/{'a' * 60_000}.py": b""},
    "deep folders": {f"up/{'a/' * 5_000}b.py": b""},
    "many members": {f"up/m{number}.py": b"" for number in range(5_000)},
    "no metadata": {},
    "empty metadata": {METADATA: b""},
    "metadata of bytes": {METADATA: bytes(range(256)) * 100},
    "metadata of a megabyte": {METADATA: b"Name: " + b"a" * (1 << 20)},
    "name of another": {METADATA: b"Name: other\nVersion: 9\n"},
    "folder in place of the package": {"up/__init__.py/x.py": b""},
}


@pytest.mark.parametrize("name", MEMBERS)
def test_an_odd_wheel_is_told_at_once(
    wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """It fits, or is one finding; nothing of it lies anywhere afterwards."""
    good = {"up/__init__.py": b"", "up/mod.py": hostile.GOOD.encode()}
    (wheels / NAME).write_bytes(hostile.packed({**good, **MEMBERS[name]}))
    before = {file for file in Path().rglob("*") if file.name != "cache"}
    started = time.monotonic()
    assert main(["check", "--releases", "up", "--format", "json"]) in (0, 1)
    assert time.monotonic() - started < LIMIT
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert "\x1b[31mred" not in printed.out + printed.err
    after = {file for file in Path().rglob("*") if "cache" not in file.parts}
    assert {file for file in after - before if "__pycache__" not in file.parts} == set()


@pytest.mark.parametrize("name", [*PLACES])
def test_what_is_no_module_of_a_tree_is_left_out(
    wheels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A pipe or a device in a source tree is no module of it, and is never waited for."""
    tree = tmp_path / "tree"
    package = tree / "up"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "mod.py").write_text(hostile.GOOD)
    PLACES[name](package / "odd.py")
    with contextlib.suppress(FileExistsError):
        PLACES[name](package / "_version.py")
    started = time.monotonic()
    assert main(["check", "--path", str(tree)]) in (0, 1, 2)
    assert main(["fit", str(tree), "--of", "up", "--path", str(tree)]) in (0, 1, 2)
    assert time.monotonic() - started < LIMIT
    assert "Traceback" not in capsys.readouterr().err


SETTINGS = {
    "path": f"http://127.0.0.1:9/{SECRET}/simple",
    "query": f"http://127.0.0.1:9/simple?token={SECRET}",
    "fragment": f"http://127.0.0.1:9/simple#{SECRET}",
    "parameters": f"http://127.0.0.1:9/simple;token={SECRET}",
    "login": f"http://u:{SECRET}@127.0.0.1:9/simple",
    "login in a name": f"http://{SECRET}@127.0.0.1:9/simple",
    "blank in a password": f"https://u:{SECRET} word@host",
    "blank and number": f"https://u:1{SECRET} {SECRET}@host/simple",
    "number and blank": f"https://u:1234 {SECRET}@host/simple",
    "tab in a password": f"https://u:a\t{SECRET}@host/simple",
    "two blanks": f"https://u:a {SECRET} b@host/simple",
    "no scheme": f"u:{SECRET}@127.0.0.1:9/simple",
    "no scheme and blank": f"u:{SECRET} word@127.0.0.1:9/simple",
    "slash in a password": f"http://u:a/{SECRET}@127.0.0.1:9/simple",
    "question in a password": f"http://u:a?{SECRET}@127.0.0.1:9/simple",
    "hash in a password": f"http://u:a#{SECRET}@127.0.0.1:9/simple",
    "bracket": f"http://u:{SECRET}@[::1/simple",
    "bad port": f"http://u:{SECRET}",
    "other scheme": f"ftp://u:{SECRET}@host/simple",
    "twice": f"http://a:{SECRET}@b:{SECRET}@127.0.0.1:9/{SECRET}/",
    "encoded": f"http://u:%20{SECRET}@127.0.0.1:9/simple",
}


@pytest.mark.parametrize(
    "variable", ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"]
)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_secret_of_the_settings_is_never_printed(
    wheels: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    name: str,
) -> None:
    """Wherever in the URL it stands, and whatever is wrong with that."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_TIMEOUT", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv(variable, SETTINGS[name])
    started = time.monotonic()
    main(["check", "--releases", "up"])
    main(["history", "up.mod:f", "--releases", "up"])
    assert time.monotonic() - started < LIMIT
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert SECRET not in printed.out + printed.err
    for file in Path("cache").rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()


def _cut(place: Path, data: bytes) -> None:
    place.write_bytes(data[: len(data) // 2])


def _flipped(place: Path, data: bytes) -> None:
    middle = len(data) // 2
    place.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])


def _longer(place: Path, data: bytes) -> None:
    place.write_bytes(data + data)


DAMAGES = {
    "cut": _cut,
    "flipped": _flipped,
    "longer": _longer,
    **{name: lambda place, _, put=put: put(place) for name, put in PLACES.items()},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_cache_changes_no_answer(
    wheels: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """Whatever lies where an entry was, `check` says what it says without a cache."""

    def report() -> object:
        assert main(["check", "--releases", "up", "--format", "json"]) == 1
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return json.loads(printed.out)

    write_wheels(wheels, {"2.0": {"mod": "def other(): ..."}})
    with index_of(wheels, monkeypatch):
        without_cache = report()
        assert report() == without_cache
        entries = [file for file in Path("cache").rglob("*") if file.is_file()]
        assert len(entries) > 4
        for file in entries:
            data = file.read_bytes()
            file.unlink()
            with contextlib.suppress(FileExistsError):  # made for an entry beside it
                DAMAGES[name](file, data)
        assert report() == without_cache
        assert report() == without_cache

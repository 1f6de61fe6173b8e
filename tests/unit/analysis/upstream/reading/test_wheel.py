"""Wheel files, honest and not."""

from __future__ import annotations

import tracemalloc
import zipfile
from typing import TYPE_CHECKING

import pytest

from analysis.upstream import archives
from patchkit.analysis.upstream.reading import files as limits
from patchkit.analysis.upstream.reading.releases import open_archive
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.analysis.upstream.reading.files import ReleaseSource

NAME = "up-1.0-py3-none-any.whl"


def opened(place: Path, data: bytes, name: str = NAME) -> ReleaseSource:
    file = place / name
    file.write_bytes(data)
    return open_archive(file)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_reads_what_was_packed(tmp_path: Path, method: int) -> None:
    """Every Python file comes out as it went in; of an extension module only its name."""
    source = opened(tmp_path, archives.wheel(method=method))
    assert (source.name, source.version) == (f"wheel {NAME}", "1.0")
    assert source.paths() == {
        "up/__init__.py",
        "up/core.py",
        "up/typed.pyi",
        "up/native.so",
    }
    for path in source.paths() - {"up/native.so"}:
        assert source.read(path) == archives.FILES[path]


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    """A file that the wheel lacks, or that is no Python, is None and not an error."""
    source = opened(tmp_path, archives.wheel())
    assert source.read("up/other.py") is None
    assert source.read("up/native.so") is None
    assert not source.has("up/other.py")
    source.prefetch(["up/other.py"])


def test_data_directories_are_where_installers_put_them(tmp_path: Path) -> None:
    """`purelib` and `platlib` are site-packages; scripts are not."""
    files = {
        "up-1.0.data/purelib/up/a.py": b"1",
        "up-1.0.data/platlib/up/b.py": b"2",
        "up-1.0.data/scripts/run.py": b"3",
        "up-1.0.dist-info/x.py": b"4",
    }
    source = opened(tmp_path, archives.wheel(files))
    assert source.paths() == {"up/a.py", "up/b.py"}
    assert source.read("up/b.py") == b"2"


def test_a_large_table_of_contents(tmp_path: Path) -> None:
    """More names than fit into the first look at the end of the file."""
    files = {f"up/{'long' * 20}{number}.py": b"%d" % number for number in range(3000)}
    source = opened(tmp_path, archives.wheel(files))
    assert len(source.paths()) == 3000
    assert source.read(f"up/{'long' * 20}2999.py") == b"2999"


def test_an_empty_file(tmp_path: Path) -> None:
    """Empty content is content."""
    assert opened(tmp_path, archives.wheel({"up/e.py": b""})).read("up/e.py") == b""


def test_bytes_before_the_archive_do_not_matter(tmp_path: Path) -> None:
    """Zip allows them; offsets are corrected."""
    source = opened(tmp_path, b"#!/bin/sh\n" + archives.wheel())
    assert source.read("up/core.py") == archives.FILES["up/core.py"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("../up/evil.py", "leads out of the archive"),
        ("/up/a/evil.py", "leads out of the archive"),
        ("up/../../e.py", "leads out of the archive"),
        ("C:\\u\\evil.py", "leads out of the archive"),
        ("up/a\nevil.py", "has control characters"),
    ],
)
def test_a_name_that_leads_out_refuses_the_wheel(
    tmp_path: Path, name: str, fault: str
) -> None:
    """Traversal, absolute paths, drives and control characters: one error, which shows the name."""
    place = "u" * len(name)
    data = archives.renamed(
        archives.wheel({"up/__init__.py": b"", place: b""}), place, name
    )
    with pytest.raises(UpstreamError, match=fault):
        opened(tmp_path, data).read("up/__init__.py")


def test_a_bomb_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that says its size and is too large is refused before it is read."""
    monkeypatch.setattr(limits, "MAX_FILE", 1 << 20)
    source = opened(
        tmp_path, archives.wheel({"up/b.py": bytes(5 << 20), "up/a.py": b"1"})
    )
    with pytest.raises(UpstreamError, match=r"up/b\.py in it has 5,242,880 bytes"):
        source.read("up/b.py")


def test_a_bomb_that_lies_stops_at_its_own_word(tmp_path: Path) -> None:
    """Content that goes on after the size that the archive states is not unpacked further."""
    data = archives.wheel({"up/b.py": bytes(50 << 20)})
    source = opened(tmp_path, archives.with_claimed_size(data, "up/b.py", 10))
    tracemalloc.start()
    with pytest.raises(UpstreamError, match="another size"):
        source.read("up/b.py")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 << 20


def test_members_that_overlap_refuse_the_wheel(tmp_path: Path) -> None:
    """Many names for one piece of data is how small bombs become large."""
    data = archives.wheel(
        {"up/a.py": b"1" * 99, "up/b.py": b"2" * 99}, zipfile.ZIP_STORED
    )
    with pytest.raises(UpstreamError, match="overlap"):
        opened(tmp_path, archives.with_offset(data, "up/b.py", 20)).paths()


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"no zip at all" * 9999, bytes(200_000)]
)
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    """Anything else is one error that names the file."""
    with pytest.raises(UpstreamError, match=f"{NAME}.*no zip archive"):
        opened(tmp_path, content).paths()


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_wheel_that_is_cut_off(tmp_path: Path, kept: float) -> None:
    """The end is where the table of contents is: any cut shows."""
    data = archives.wheel(archives.spread())
    with pytest.raises(UpstreamError, match=NAME):
        opened(tmp_path, data[: int(len(data) * kept)]).paths()


def test_content_that_was_damaged(tmp_path: Path) -> None:
    """One bit of a file's data changes: its checksum shows it."""
    data = bytearray(archives.wheel(method=zipfile.ZIP_STORED))
    data[data.index(b"return 1")] ^= 1
    with pytest.raises(UpstreamError, match=r"up/core\.py in it is damaged"):
        opened(tmp_path, bytes(data)).read("up/core.py")


def test_encryption_and_strange_compressions_are_said(tmp_path: Path) -> None:
    """What no installer would unpack is refused in words."""
    with pytest.raises(UpstreamError, match="encrypted"):
        opened(tmp_path, archives.with_flag(archives.wheel(), "up/core.py", 1)).paths()
    with pytest.raises(UpstreamError, match="unsupported compression method 14"):
        opened(tmp_path, archives.wheel(method=zipfile.ZIP_LZMA)).read("up/core.py")


def test_a_table_of_contents_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A contents table of any size is not read into memory."""
    monkeypatch.setattr(
        "patchkit.analysis.upstream.reading.wheel.MAX_DIRECTORY", 100_000
    )
    files = {f"up/{'long' * 20}{number}.py": b"" for number in range(1000)}
    with pytest.raises(UpstreamError, match="more than 100,000 bytes"):
        opened(tmp_path, archives.wheel(files)).paths()


def test_what_failed_once_fails_alike(tmp_path: Path) -> None:
    """A broken wheel gives one error, however often and for whatever it is asked."""
    source = opened(tmp_path, b"none")
    said = set()
    for ask in (
        source.paths,
        lambda: source.read("up/a.py"),
        lambda: source.prefetch(["up/b.py"]),
    ):
        with pytest.raises(UpstreamError) as caught:
            ask()
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("name", ["up.whl", "up-1.0.zip", "up-1.0-py3-none.whl"])
def test_a_name_that_is_no_wheels(tmp_path: Path, name: str) -> None:
    """The version is in the name: another name is wrong use."""
    with pytest.raises(UpstreamError, match="expected a wheel such as"):
        open_archive(tmp_path / name)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    """The error names the file, and what is wrong."""
    with pytest.raises(UpstreamError, match=f"{NAME}.*No such file"):
        open_archive(tmp_path / NAME).paths()

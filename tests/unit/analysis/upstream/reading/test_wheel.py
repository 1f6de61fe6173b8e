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
    """Write the bytes of a wheel to a file, and open it."""
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


def test_reads_a_large_table_of_contents(tmp_path: Path) -> None:
    """A table of contents that is longer than the first read at the end is read completely."""
    files = {f"up/{'long' * 20}{number}.py": b"%d" % number for number in range(3000)}
    source = opened(tmp_path, archives.wheel(files))
    assert len(source.paths()) == 3000
    assert source.read(f"up/{'long' * 20}2999.py") == b"2999"


def test_an_empty_file_is_read_as_empty(tmp_path: Path) -> None:
    """An empty file is read as empty bytes, not as a missing one."""
    assert opened(tmp_path, archives.wheel({"up/e.py": b""})).read("up/e.py") == b""


def test_bytes_before_the_archive_do_not_matter(tmp_path: Path) -> None:
    """A wheel with bytes before the archive, which zip allows, is read at corrected offsets."""
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
def test_a_dangerous_name_refuses_the_wheel(
    tmp_path: Path, name: str, fault: str
) -> None:
    """A member whose path leads out, is absolute, has a drive or control characters is an error."""
    placeholder = "u" * len(name)
    honest = archives.wheel({"up/__init__.py": b"", placeholder: b""})
    data = archives.renamed(honest, placeholder, name)
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


def test_a_bomb_is_unpacked_no_further_than_its_stated_size(tmp_path: Path) -> None:
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
    """Members that share data are an error, since small bombs become large that way."""
    data = archives.wheel(
        {"up/a.py": b"1" * 99, "up/b.py": b"2" * 99}, zipfile.ZIP_STORED
    )
    with pytest.raises(UpstreamError, match="overlap"):
        opened(tmp_path, archives.with_offset(data, "up/b.py", 20)).paths()


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"no zip at all" * 9999, bytes(200_000)]
)
def test_a_file_that_is_no_archive_is_an_error(tmp_path: Path, content: bytes) -> None:
    """A file that is no zip archive is an error that names the file."""
    with pytest.raises(UpstreamError, match=f"{NAME}.*not a zip archive"):
        opened(tmp_path, content).paths()


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_wheel_that_is_cut_off_is_an_error(tmp_path: Path, kept: float) -> None:
    """Wherever a wheel is cut off, it is an error, as its table of contents is at the end."""
    data = archives.wheel(archives.spread())
    with pytest.raises(UpstreamError, match=NAME):
        opened(tmp_path, data[: int(len(data) * kept)]).paths()


def test_damaged_content_is_an_error(tmp_path: Path) -> None:
    """A file of which one bit has changed is an error, found by its checksum."""
    data = bytearray(archives.wheel(method=zipfile.ZIP_STORED))
    data[data.index(b"return 1")] ^= 1
    with pytest.raises(UpstreamError, match=r"up/core\.py in it is damaged"):
        opened(tmp_path, bytes(data)).read("up/core.py")


def test_encryption_and_unsupported_compression_are_errors(tmp_path: Path) -> None:
    """An encrypted member and an unsupported compression method are errors that say so."""
    encrypted = archives.with_flag(archives.wheel(), "up/core.py", 1)
    with pytest.raises(UpstreamError, match="encrypted"):
        opened(tmp_path, encrypted).paths()
    compressed = archives.wheel(method=zipfile.ZIP_LZMA)
    with pytest.raises(UpstreamError, match="unsupported compression method 14"):
        opened(tmp_path, compressed).read("up/core.py")


def test_a_table_of_contents_above_the_limit_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of contents that is larger than the limit is an error."""
    monkeypatch.setattr(
        "patchkit.analysis.upstream.reading.wheel.MAX_DIRECTORY", 100_000
    )
    files = {f"up/{'long' * 20}{number}.py": b"" for number in range(1000)}
    with pytest.raises(UpstreamError, match="more than 100,000 bytes"):
        opened(tmp_path, archives.wheel(files)).paths()


def test_a_broken_wheel_fails_alike_every_time(tmp_path: Path) -> None:
    """A broken wheel gives the same error, however often and for whatever it is asked."""
    source = opened(tmp_path, b"none")
    questions = (
        source.paths,
        lambda: source.read("up/a.py"),
        lambda: source.prefetch(["up/b.py"]),
    )
    messages = set()
    for ask in questions:
        with pytest.raises(UpstreamError) as caught:
            ask()
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("name", ["up.whl", "up-1.0.zip", "up-1.0-py3-none.whl"])
def test_a_file_name_that_is_no_wheels_is_refused(tmp_path: Path, name: str) -> None:
    """A file name that is not a wheel's is an error that shows what such a name looks like."""
    with pytest.raises(UpstreamError, match="expected a wheel such as"):
        open_archive(tmp_path / name)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """A wheel that does not exist is an error that names the file and the cause."""
    with pytest.raises(UpstreamError, match=f"{NAME}.*No such file"):
        open_archive(tmp_path / NAME).paths()

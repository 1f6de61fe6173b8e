"""Source distributions, honest and not."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from analysis.upstream import archives
from patchkit.analysis.upstream.reading import archive as archive_module
from patchkit.analysis.upstream.reading import files as limits
from patchkit.analysis.upstream.reading.releases import open_archive
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.analysis.upstream.reading.files import ReleaseSource

NAME = "up-1.0.tar.gz"


def opened(place: Path, data: bytes, name: str = NAME) -> ReleaseSource:
    """Write the bytes of a source distribution to a file, and open it."""
    file = place / name
    file.write_bytes(data)
    return open_archive(file)


@pytest.mark.parametrize("root", ["", "src/", "python/"])
def test_reads_packages_at_the_top_or_one_below(tmp_path: Path, root: str) -> None:
    """Python files of the package are read; `setup.py`, tests and loose files are not installed."""
    files = {root + path: content for path, content in archives.FILES.items()}
    files |= {"setup.py": b"1", "tests/__init__.py": b"2", "other/a.py": b"3"}
    source = opened(tmp_path, archives.sdist(files))
    assert (source.version, source.name) == ("1.0", f"sdist {NAME}")
    assert source.paths() == {"up/__init__.py", "up/core.py", "up/typed.pyi"}
    assert source.read("up/core.py") == archives.FILES["up/core.py"]
    assert source.read("setup.py") is None


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil.py", "up-1.0/../../e.py"])
def test_a_name_that_leads_out_refuses_the_archive(tmp_path: Path, name: str) -> None:
    """A member with an absolute path, or one that leads out by `..`, makes the archive an error."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(UpstreamError, match="leads out of the archive"):
        opened(tmp_path, buffer.getvalue()).paths()


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A symbolic link in the archive is not listed as a file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, link in (("up/__init__.py", None), ("up/a.py", "/etc/passwd")):
            info = tarfile.TarInfo(f"up-1.0/{name}")
            if link:
                info.type = tarfile.SYMTYPE
                info.linkname = link
            archive.addfile(info)
    assert opened(tmp_path, buffer.getvalue()).paths() == {"up/__init__.py"}


def test_bombs_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file, all Python files, and the whole archive each have a limit that is enforced."""
    monkeypatch.setattr(limits, "MAX_FILE", 1 << 20)
    monkeypatch.setattr(archive_module, "MAX_ALL", 2 << 20)
    monkeypatch.setattr(archive_module, "MAX_DOWNLOAD", 8 << 20)
    large_file = archives.sdist({"up/__init__.py": b"", "up/b.py": bytes(2 << 20)})
    with pytest.raises(UpstreamError, match=r"up/b\.py in it has 2,097,152 bytes"):
        opened(tmp_path, large_file).paths()
    many_files = archives.sdist(
        {f"up/m{number}.py": bytes(1 << 20) for number in range(3)}
    )
    with pytest.raises(UpstreamError, match="unpacks to more than 2,097,152 bytes"):
        opened(tmp_path, many_files).paths()
    large_archive = archives.sdist(
        {"up/data.bin": bytes(20 << 20), "up/__init__.py": b""}
    )
    with pytest.raises(UpstreamError, match="unpacks to more than 8,388,608 bytes"):
        opened(tmp_path, large_archive).paths()


def test_members_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of empty ones compress to little, and would take minutes."""
    monkeypatch.setattr(archive_module, "_MAX_MEMBERS", 3)
    data = archives.sdist({f"up/m{number}.py": b"" for number in range(9)})
    with pytest.raises(UpstreamError, match="more than 3 files"):
        opened(tmp_path, data).paths()


def test_a_huge_extended_header_is_not_read(tmp_path: Path) -> None:
    """An extended header that states gigabytes is an error; `tarfile` does not limit its size."""
    header = tarfile.TarInfo("pax")
    header.type = tarfile.XHDTYPE
    header.size = 1 << 33
    data = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
    with pytest.raises(UpstreamError, match=r"header in it states 8,589,934,592 bytes"):
        opened(tmp_path, data).paths()


@pytest.mark.parametrize(
    "content",
    [b"", b"text", gzip.compress(b"no tar", mtime=0), b"\x1f\x8b" + b"x" * 99],
)
def test_a_file_that_is_no_archive_is_an_error(tmp_path: Path, content: bytes) -> None:
    """A file that is no compressed tar archive is an error that names the file."""
    with pytest.raises(UpstreamError, match=NAME):
        opened(tmp_path, content).paths()


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_an_archive_that_is_cut_off_is_an_error(tmp_path: Path, kept: float) -> None:
    """What is missing at the end is an error, never a release with fewer files."""
    files = {f"up/m{number}.py": (b"%d" % number) * 999 for number in range(99)}
    data = archives.sdist(files)
    with pytest.raises(UpstreamError, match=NAME):
        opened(tmp_path, data[: int(len(data) * kept)]).paths()


def test_a_file_name_without_a_version_is_refused(tmp_path: Path) -> None:
    """A file name that states no version is an error that shows what such a name looks like."""
    with pytest.raises(UpstreamError, match="or a source distribution such as"):
        open_archive(tmp_path / "up.tar.gz")

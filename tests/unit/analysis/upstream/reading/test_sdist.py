"""Source distributions, honest and not."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from analysis.upstream import archives
from patchkit.analysis.upstream.reading import archive as module
from patchkit.analysis.upstream.reading import files as limits
from patchkit.analysis.upstream.reading.releases import open_archive
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.analysis.upstream.reading.files import ReleaseSource

NAME = "up-1.0.tar.gz"


def opened(place: Path, data: bytes, name: str = NAME) -> ReleaseSource:
    file = place / name
    file.write_bytes(data)
    return open_archive(file)


@pytest.mark.parametrize("root", ["", "src/", "python/"])
def test_reads_what_was_packed(tmp_path: Path, root: str) -> None:
    """Packages lie at the top or one below; other Python files are not installed."""
    files = {root + path: content for path, content in archives.FILES.items()}
    files |= {"setup.py": b"1", "tests/__init__.py": b"2", "other/a.py": b"3"}
    source = opened(tmp_path, archives.sdist(files))
    assert (source.version, source.name) == ("1.0", f"sdist {NAME}")
    assert source.paths() == {"up/__init__.py", "up/core.py", "up/typed.pyi"}
    assert source.read("up/core.py") == archives.FILES["up/core.py"]
    assert source.read("setup.py") is None


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil.py", "up-1.0/../../e.py"])
def test_a_name_that_leads_out_refuses_the_archive(tmp_path: Path, name: str) -> None:
    """Traversal and absolute paths: one error, which shows the name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(UpstreamError, match="leads out of the archive"):
        opened(tmp_path, buffer.getvalue()).paths()


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link is no file, wherever it leads."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, link in (("up/__init__.py", None), ("up/a.py", "/etc/passwd")):
            info = tarfile.TarInfo(f"up-1.0/{name}")
            if link:
                info.type, info.linkname = tarfile.SYMTYPE, link
            archive.addfile(info)
    assert opened(tmp_path, buffer.getvalue()).paths() == {"up/__init__.py"}


def test_bombs_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, all Python files, and the whole archive each have a limit."""
    monkeypatch.setattr(limits, "MAX_FILE", 1 << 20)
    monkeypatch.setattr(module, "MAX_ALL", 2 << 20)
    monkeypatch.setattr(module, "MAX_DOWNLOAD", 8 << 20)
    one = archives.sdist({"up/__init__.py": b"", "up/b.py": bytes(2 << 20)})
    with pytest.raises(UpstreamError, match=r"up/b\.py in it has 2,097,152 bytes"):
        opened(tmp_path, one).paths()
    many = archives.sdist({f"up/m{number}.py": bytes(1 << 20) for number in range(3)})
    with pytest.raises(UpstreamError, match="unpacks to more than 2,097,152 bytes"):
        opened(tmp_path, many).paths()
    other = archives.sdist({"up/data.bin": bytes(20 << 20), "up/__init__.py": b""})
    with pytest.raises(UpstreamError, match="unpacks to more than 8,388,608 bytes"):
        opened(tmp_path, other).paths()


def test_a_header_without_end_is_not_read(tmp_path: Path) -> None:
    """Extended headers have a size of their own, which nothing in `tarfile` bounds."""
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 1 << 33
    data = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
    with pytest.raises(UpstreamError, match=r"header in it states 8,589,934,592 bytes"):
        opened(tmp_path, data).paths()


@pytest.mark.parametrize(
    "content",
    [b"", b"text", gzip.compress(b"no tar", mtime=0), b"\x1f\x8b" + b"x" * 99],
)
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    """Anything else is one error that names the file."""
    with pytest.raises(UpstreamError, match=NAME):
        opened(tmp_path, content).paths()


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_an_archive_that_is_cut_off(tmp_path: Path, kept: float) -> None:
    """What is missing at the end is an error, never a release with fewer files."""
    data = archives.sdist({f"up/m{n}.py": (b"%d" % n) * 999 for n in range(99)})
    with pytest.raises(UpstreamError, match=NAME):
        opened(tmp_path, data[: int(len(data) * kept)]).paths()


def test_a_name_that_is_no_source_distributions(tmp_path: Path) -> None:
    """The version is in the name: another name is wrong use."""
    with pytest.raises(UpstreamError, match="or a source distribution such as"):
        open_archive(tmp_path / "up.tar.gz")

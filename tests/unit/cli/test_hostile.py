"""One hostile file, page or text is one finding, and everything else is told."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import find_only_in, no_own_packs, write_wheels
from analysis.upstream.server import index_of
from support.packages import row, world

from cli import hostile
from patchkit.analysis.upstream.reading.cache import default_directory
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.packages import World

__all__ = ["world"]

LIMIT = 20.0
"""Seconds that no check takes, however slow the machine is."""
SECRET = "s3cr3t"


@pytest.fixture
def wheels(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pack with one patch, and a folder with two good releases, an old and a new one."""
    no_own_packs(monkeypatch)
    texts = {"why": "'w'", "upstream": "'u'", "sunset": "'s'"}
    wrap = "Wrap('up.mod:f', by='w')"
    requires = "('up>=1,<4',)"
    body = "def w(wrapped, instance, args, kwargs): ..."
    world.pack(row("p", "patch_a", wrap, requires=requires, **texts), patch_a=body)
    folder = tmp_path / "wheels"
    write_wheels(folder, {"1.0": {"mod": hostile.GOOD}, "3.0": {"mod": hostile.GOOD}})
    find_only_in(monkeypatch, folder)
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return folder


def others_are_told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Check all releases: the good ones fit. Return the findings, one of each other release."""
    started = time.monotonic()
    assert main(["check", "--releases", "up", "--format", "json"]) in (0, 1)
    assert time.monotonic() - started < LIMIT
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert SECRET not in printed.out + printed.err
    report = json.loads(printed.out)
    grid = report["grid"]["p"]
    assert (grid["up 1.0"], grid["up 3.0"]) == ("ok", "ok")
    findings: list[dict[str, Any]] = report["findings"]
    assert all(one["release"] not in ("up 1.0", "up 3.0") for one in findings)
    assert all("\n" not in one["message"] for one in findings)
    is_told = "up 2.0" in report["releases"] and grid.get("up 2.0") != "ok"
    assert len(findings) == int(is_told)
    return findings


@pytest.mark.parametrize("name", hostile.sources())
def test_a_hostile_module_is_one_finding(
    wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Whatever a module holds, it is told of its release alone, and nothing of it is run."""
    source = hostile.sources()[name]
    files = {"up/__init__.py": b"from up.mod import *", "up/mod.py": source}
    files["up/other.py"] = b"from up.mod import *\nfrom up.mod import f"
    wheel = hostile.packed(files)
    (wheels / "up-2.0-py3-none-any.whl").write_bytes(wheel)
    others_are_told(capsys)


@pytest.mark.parametrize("name", hostile.wheels())
def test_a_hostile_wheel_is_one_finding(
    wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A wheel that cannot be read, or has no such module, is told once."""
    (wheels / "up-2.0-py3-none-any.whl").write_bytes(hostile.wheels()[name])
    others_are_told(capsys)


@pytest.mark.parametrize("name", hostile.tarballs())
def test_a_hostile_source_distribution_is_one_finding(
    wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """It is the same with a release that has no wheel; nothing is unpacked."""
    (wheels / "up-2.0.tar.gz").write_bytes(hostile.tarballs()[name])
    others_are_told(capsys)


@contextmanager
def index(kind: str, body: bytes) -> Iterator[str]:
    """Serve one page at every address; return the address with a password in it."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://user:{SECRET}@127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("name", hostile.pages())
def test_a_hostile_index_leaves_the_other_releases(
    wheels: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """Its page is reported or read as empty; its password is neither printed nor kept."""
    for proxy in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)
        monkeypatch.delenv(proxy.upper(), raising=False)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with index(*hostile.pages()[name]) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        others_are_told(capsys)
    for file in default_directory().rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()


@pytest.mark.parametrize("name", hostile.files())
def test_a_hostile_cache_is_made_anew(
    wheels: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """What is no entry of the cache is as if it were not there."""
    with index_of(wheels, monkeypatch) as shop:
        assert others_are_told(capsys) == []
        entries = [file for file in Path("cache").rglob("*") if file.is_file()]
        assert len(entries) > 4
        for file in entries:
            file.write_bytes(hostile.files()[name])
        requests = len(shop.asked)
        assert others_are_told(capsys) == []
        assert len(shop.asked) > requests  # nothing of the cache was of use


@pytest.mark.parametrize("name", hostile.files())
@pytest.mark.parametrize("place", ["pack/patchkit.lock", "pyproject.toml"])
@pytest.mark.usefixtures("wheels")
def test_a_hostile_text_of_ones_own_is_one_line(
    capsys: pytest.CaptureFixture[str], name: str, place: str
) -> None:
    """A lock or settings that cannot be read end the command with one line that names the file."""
    text = hostile.files()[name]
    if place == "pyproject.toml":
        text = b"[tool.patchkit]\n" + text
    Path(place).write_bytes(text)
    is_fine = place == "pyproject.toml" and name == "empty"
    assert main(["check", "--releases", "up"]) == (0 if is_fine else 2)
    error = capsys.readouterr().err
    assert error.count("\n") == int(not is_fine)
    assert is_fine or Path(place).name in error

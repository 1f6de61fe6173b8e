"""A package index on a real socket, which serves well or badly as a test asks."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import ssl
import threading
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Shop:
    """What the server has, how it behaves, and what it was asked.

    Args:
        files: content by filename.
        behaviours: by filename; see `_Handler`. The key "" holds for all.
        yanked: filenames.
        requires_python: versions of Python by the names of files.
        has_hashes: whether pages state hashes.
        is_json: whether pages are JSON where the client takes that.
        etag: of pages; empty for none.
        user: `name:password` that a client has to send; empty if none is needed.
        prefix: how the paths of pages may begin.
        asked: all requests, each as method, path and range.
        clients: the address of each connection.
        sent: how many bytes of content went out.
        url: where the server listens.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    behaviours: dict[str, str] = field(default_factory=dict)
    yanked: set[str] = field(default_factory=set)
    requires_python: dict[str, str] = field(default_factory=dict)
    has_hashes: bool = True
    is_json: bool = False
    etag: str = ""
    user: str = ""
    prefix: str = ""
    asked: list[str] = field(default_factory=list)
    clients: set[Any] = field(default_factory=set)
    sent: int = 0
    url: str = ""

    def project_links(self, project: str) -> list[str]:
        """The filenames on a project's page."""
        return [name for name in self.files if re.split(r"-\d", name)[0] == project]

    def requests_of(self, filename: str) -> list[str]:
        """The requests in which a filename, or a part of one, occurs."""
        return [line for line in self.asked if filename in line]


class _Handler(BaseHTTPRequestHandler):
    """Answers as the shop's behaviours say.

    `whole` knows no ranges, `no-tail` none that are counted from the end. `cut` breaks off,
    `cut-once` the first time only. `long` claims more than it sends, `other` sends another part
    than it was asked for, `changed` another total each time. `gone` is 404, `gone-midway` after the
    first time. `moved` redirects to the file, `loop` to itself, `elsewhere` to a `file:`. `busy` is
    503 once, `broken` 500 always.
    """

    protocol_version = "HTTP/1.1"
    shop: Shop
    # Small answers to many requests: without this each waits for the last one's acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        shop = self.shop
        shop.asked.append(
            f"{self.command} {self.path} {self.headers.get('Range', '')}".strip()
        )
        shop.clients.add(self.client_address)
        if shop.user and self.headers.get("Authorization") != _basic(shop.user):
            self._send(401, b"who are you")
            return
        # A proxy is asked with whole URLs.
        self.path = re.sub(r"^http://[^/]+", "", self.path).removeprefix(shop.prefix)
        if self.path.startswith("/simple/"):
            self._page(self.path.split("/")[2])
        else:
            self._file(self.path.rpartition("/")[2])

    def _page(self, project: str) -> None:
        shop = self.shop
        names = shop.project_links(project)
        behaviour = shop.behaviours.get(f"page {project}", "")
        if behaviour == "broken":
            self._send(500, b"")
        elif not names:
            self._send(404, b"")
        elif shop.etag and self.headers.get("If-None-Match") == shop.etag:
            self._send(304, b"", ETag=shop.etag)
        elif shop.is_json and JSON in self.headers.get("Accept", ""):
            self._send(
                200, _json(shop, names), **{"Content-Type": JSON, "ETag": shop.etag}
            )
        else:
            page = _html(shop, names)
            self._send(
                200,
                page,
                **{"Content-Type": "text/html; charset=utf-8", "ETag": shop.etag},
            )

    def _file(self, name: str) -> None:
        shop = self.shop
        behaviour = shop.behaviours.get(name, shop.behaviours.get("", ""))
        request_count = len(shop.requests_of(name))
        data = shop.files.get(name)
        if (
            data is None
            or behaviour == "gone"
            or (behaviour == "gone-midway" and request_count > 1)
        ):
            self._send(404, b"not here")
        elif behaviour == "moved" and "moved" not in self.path:
            self._send(302, b"", Location=f"/moved/{name}")
        elif behaviour == "loop":
            self._send(302, b"", Location=self.path)
        elif behaviour == "elsewhere":
            self._send(302, b"", Location="file:///etc/passwd")
        elif behaviour == "broken":
            self._send(500, b"")
        elif behaviour == "busy" and request_count == 1:
            self._send(503, b"")
        else:
            self._content(data, behaviour, request_count)

    def _content(self, data: bytes, behaviour: str, request_count: int) -> None:
        requested_range = self.headers.get("Range", "")
        cut = behaviour == "cut" or (behaviour == "cut-once" and request_count == 1)
        if not requested_range or behaviour == "whole":
            self._send(200, data, cut=cut)
            return
        if behaviour == "no-tail" and requested_range.startswith("bytes=-"):
            self._send(416, b"", **{"Content-Range": f"bytes */{len(data)}"})
            return
        first, last = _span(requested_range, len(data))
        if behaviour == "other" and first > 0:
            first -= 1
        total = len(data)
        if behaviour == "changed":
            total += request_count - 1
        body = data[first : last + 1]
        if behaviour == "long":
            body = body[:-1]
        claimed = f"bytes {first}-{last}/{total}"
        self._send(206, body, cut=cut, **{"Content-Range": claimed})

    def _send(
        self, status: int, body: bytes, *, cut: bool = False, **headers: str
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            if cut:
                body = body[: len(body) // 2]
            self.shop.sent += len(body)
            with contextlib.suppress(OSError):
                self.wfile.write(body)
        self.close_connection = self.close_connection or cut


def _span(requested_range: str, size: int) -> tuple[int, int]:
    """The first and the last byte that a `Range` header asks for."""
    first, _, last = requested_range.removeprefix("bytes=").partition("-")
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1)


def _basic(user: str) -> str:
    """The `Authorization` header of a user."""
    return "Basic " + base64.b64encode(user.encode()).decode()


def _html(shop: Shop, names: list[str]) -> bytes:
    """A page of PEP 503."""
    lines = []
    for name in names:
        digest = hashlib.sha256(shop.files[name]).hexdigest()
        mark = f"#sha256={digest}" if shop.has_hashes else ""
        yanked = ' data-yanked="broken"' if name in shop.yanked else ""
        bounds = escape(shop.requires_python.get(name, ""))
        python = f' data-requires-python="{bounds}"' if bounds else ""
        lines.append(f'<a href="../../files/{name}{mark}"{yanked}{python}>{name}</a>')
    return "<!DOCTYPE html><html><body>{}</body></html>".format(
        "<br>\n".join(lines)
    ).encode()


def _json(shop: Shop, names: list[str]) -> bytes:
    """A page of PEP 691."""
    files: list[dict[str, Any]] = []
    for name in names:
        hashes: dict[str, str] = {}
        if shop.has_hashes:
            hashes["sha256"] = hashlib.sha256(shop.files[name]).hexdigest()
        file: dict[str, Any] = {
            "filename": name,
            "url": f"/files/{name}",
            "hashes": hashes,
            "yanked": "broken" if name in shop.yanked else False,
            "requires-python": shop.requires_python.get(name),
        }
        files.append(file)
    return json.dumps({"meta": {"api-version": "1.1"}, "files": files}).encode()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Clients that go away, or do not believe a certificate, are what tests are about."""


@contextlib.contextmanager
def serving(shop: Shop, certificate: Path | None = None) -> Iterator[Shop]:
    """The shop's server, as long as the context lasts; with TLS where it has a certificate."""
    handler = type("Handler", (_Handler,), {"shop": shop})
    server = _Server(("127.0.0.1", 0), handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    shop.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    try:
        yield shop
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def index_of(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """Serve the wheels of a folder from the index that pip is set to, in place of the folder.

    Wheels in a folder leave nothing in the cache; those of an index do.
    """
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    with serving(Shop()) as shop:
        monkeypatch.setenv("PIP_INDEX_URL", f"{shop.url}/simple")
        for wheel in wheels.iterdir():
            shop.files[wheel.name] = wheel.read_bytes()
        yield shop

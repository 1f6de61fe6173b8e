"""How pip's settings reach the wire: certificates, proxies, patience."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.odd_places import ending_in

from analysis.upstream import archives
from analysis.upstream.server import Shop, serving
from analysis.upstream.shops import WHEEL
from patchkit.analysis.upstream.reading import certificates, watchdog
from patchkit.analysis.upstream.reading import web as web_module
from patchkit.analysis.upstream.reading.releases import find_releases
from patchkit.analysis.upstream.reading.replies import StatusError
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.web import Web
from patchkit.errors import UnreachableError, UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.upstream.shops import Customer

CERTIFICATE = Path(__file__).parents[3] / "data" / "localhost.pem"
"""Signed by itself, for 127.0.0.1, with its key; good for nothing but these tests."""


@pytest.fixture
def secure() -> Iterator[Shop]:
    """A shop with a certificate that nobody else has signed."""
    shop = Shop(files={WHEEL.format("1.0"): archives.wheel()})
    with serving(shop, CERTIFICATE):
        yield shop


def read(buyer: Customer, **settings: object) -> bytes | None:
    """Read a file of the only release that a library with these settings finds."""
    with buyer.library(**settings) as library:
        [release] = find_releases("up", library)
        return release.source.read("up/core.py")


def test_an_untrusted_certificate_is_an_error(buyer: Customer, secure: Shop) -> None:
    """A certificate that nobody vouches for is an error that names `cert` and `trusted-host`."""
    with pytest.raises(
        UpstreamError, match=r"does not answer.*`cert` and `trusted-host`"
    ):
        read(buyer, indexes=(f"{secure.url}/simple",), retries=0)


def test_a_certificate_in_the_bundle_of_cert_is_trusted(
    buyer: Customer, secure: Shop
) -> None:
    """Pip's `cert` names a file of authorities; a server that one of them vouches for is read."""
    content = read(buyer, indexes=(f"{secure.url}/simple",), cert=str(CERTIFICATE))
    assert content == archives.FILES["up/core.py"]


def test_certificates_are_read_once(
    buyer: Customer, secure: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many connections there are: one that breaks off is followed by another."""
    secure.behaviours[WHEEL.format("1.0")] = "cut-once"
    made: list[object] = []
    make = certificates.create_urllib3_context

    def counted() -> object:
        made.append(make())
        return made[-1]

    monkeypatch.setattr(certificates, "create_urllib3_context", counted)
    indexes = (f"{secure.url}/simple",)
    with buyer.library(indexes=indexes, cert=str(CERTIFICATE)) as library:
        [broken] = find_releases("up", library)
        with pytest.raises(UpstreamError, match="in the middle"):
            broken.source.read("up/core.py")
        [whole] = find_releases("up", library)
        assert whole.source.read("up/core.py")
    assert len(secure.clients) > 1
    assert len(made) == 1


def test_a_client_certificate_is_loaded_into_no_shared_context(
    buyer: Customer, secure: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """urllib3 loads it for each connection; two threads that do so at once end the process."""
    monkeypatch.setattr(certificates, "create_urllib3_context", None)
    cert = str(CERTIFICATE)
    indexes = (f"{secure.url}/simple",)
    content = read(buyer, indexes=indexes, cert=cert, client_cert=cert)
    assert content == archives.FILES["up/core.py"]


def test_an_https_proxy_is_checked_by_the_bundle_of_cert(
    buyer: Customer, secure: Shop
) -> None:
    """A proxy has a context of its own, which has to know pip's `cert`, too."""
    content = read(
        buyer,
        indexes=(f"{buyer.shop.url}/simple",),
        proxy=secure.url,
        cert=str(CERTIFICATE),
    )
    assert content == archives.FILES["up/core.py"]


def test_an_empty_variable_is_no_bundle(buyer: Customer, secure: Shop) -> None:
    """`CURL_CA_BUNDLE=` leaves the authorities of the system."""
    with pytest.raises(UpstreamError, match=r"CERTIFICATE_VERIFY_FAILED"):
        read(buyer, indexes=(f"{secure.url}/simple",), cert="", retries=0)


def test_authorities_that_cannot_be_read_are_named_as_the_reason(
    buyer: Customer, secure: Shop, tmp_path: Path
) -> None:
    """Pip's `cert` may name a file that is absent, or that has no certificate."""
    empty = tmp_path / "empty.pem"
    empty.touch()
    for file in (tmp_path / "absent.pem", empty):
        with pytest.raises(UpstreamError, match=r"does not answer.*pip's settings"):
            read(buyer, indexes=(f"{secure.url}/simple",), cert=str(file), retries=0)


def test_a_trusted_host_needs_no_valid_certificate(
    buyer: Customer, secure: Shop
) -> None:
    """A host and port in pip's `trusted-host` is read whatever its certificate."""
    host = secure.url.removeprefix("https://")
    content = read(buyer, indexes=(f"{secure.url}/simple",), trusted_hosts=(host,))
    assert content == archives.FILES["up/core.py"]


def test_trust_ends_at_the_host_that_is_trusted(buyer: Customer, secure: Shop) -> None:
    """A file that a trusted host's page links to on another host needs a valid certificate."""
    secure_port = secure.url.rpartition(":")[2]
    trusted = buyer.shop.url.removeprefix("http://")
    assert secure_port not in trusted
    buyer.shop.files["up-1.0.tar.gz"] = b""
    with buyer.library(trusted_hosts=(trusted,), retries=0) as library:
        [release] = find_releases("up", library)
        release.link = release.link._replace(url=f"{secure.url}/files/up-1.0.tar.gz")
        with pytest.raises(UpstreamError, match="trusted-host"):
            release.source.paths()


@pytest.mark.parametrize("way", ["setting", "variable"])
def test_requests_go_to_the_proxy(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Pip's `proxy`, or else the environment's, gets all requests, also for hosts unknown here."""
    buyer.shop.files[WHEEL.format("1.0")] = archives.wheel()
    if way == "variable":
        monkeypatch.setenv("http_proxy", buyer.shop.url)
    proxy = {"proxy": buyer.shop.url} if way == "setting" else {}
    assert read(buyer, indexes=("http://index.invalid/simple",), **proxy)
    assert all("http://index.invalid/" in line for line in buyer.shop.asked)


def test_a_host_in_no_proxy_is_asked_directly(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request to a host in `no_proxy` does not go to the proxy."""
    buyer.shop.files[WHEEL.format("1.0")] = archives.wheel()
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert read(buyer)


def test_a_silent_server_counts_as_unreachable(tmp_path: Path) -> None:
    """A server that does not reply within pip's `timeout` is an UnreachableError that names it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        accepted: list[socket.socket] = []
        thread = threading.Thread(
            target=lambda: accepted.append(silent.accept()[0]), daemon=True
        )
        thread.start()
        web = Web(PipSettings(timeout=0.2, retries=0))
        with pytest.raises(UnreachableError, match=f"127.0.0.1:{port} does not answer"):
            web.get(f"http://127.0.0.1:{port}/", {}, 10)
        web.close()
        thread.join()
        accepted[0].close()


_CHUNKED = "HTTP/1.1 {}\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("way", ["page", "part", "whole"])
@pytest.mark.parametrize(
    ("beginning", "drop"),
    [
        ("HTTP/1.1 {}\r\n\r\n", "."),
        ("HTTP/1.1 {}", " "),
        ("HTTP/1.1 {}\r\nX-Way: ", "."),
        ("HTTP/1.1 {}\r\n", "X: y\r\n"),
        ("", "HTTP/1.1 100 Continue\r\n\r\n"),
        (f"{_CHUNKED}1", ";"),
        (f"{_CHUNKED}0\r\n", "X: y\r\n"),
    ],
    ids=["body", "status", "header", "headers", "continue", "extension", "trailers"],
)
def test_a_server_that_drips_is_given_up(
    monkeypatch: pytest.MonkeyPatch, way: str, beginning: str, drop: str
) -> None:
    """Each byte comes in time, and the end would never; then it is not asked again."""
    monkeypatch.setattr(watchdog, "PATIENCE", 0.2)
    status = "206 OK" if way == "part" else "200 OK"
    is_over = threading.Event()
    asked = []

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            asked.append(connection.recv(1 << 16))
            connection.sendall(beginning.format(status).encode())
            while not is_over.wait(0.02):
                connection.sendall(drop.encode())

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        host = f"127.0.0.1:{server.getsockname()[1]}"
        url = f"http://{host}/up"
        ways = {
            "page": lambda: web.get(url, {}, 1 << 20),
            "part": lambda: web.content(url).tail(1 << 16),
            "whole": lambda: web.download(url, None).__enter__(),
        }
        with closing(Web(PipSettings(timeout=5, retries=0))) as web, ending_in(100):
            for _ in range(2):
                with pytest.raises(UnreachableError, match=f"{host} sends less than"):
                    ways[way]()
        is_over.set()
        thread.join()
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["PIP_CERT", "PIP_CLIENT_CERT", "SSL_CERT_FILE"])
def test_a_certificate_that_is_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It is refused before anything is sent."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv(name, str(pipe))
    settings = PipSettings.read()
    refused = pytest.raises(UnreachableError, match="pipe is no file")
    with closing(Web(settings)) as web, ending_in(60), refused:
        web.get("https://127.0.0.1:9/", {}, 10)


def test_a_log_of_keys_that_cannot_be_written_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a leftover of a search for an error may be."""
    monkeypatch.setenv("SSLKEYLOGFILE", "/nowhere/keys")
    refused = pytest.raises(UnreachableError, match="/nowhere/keys")
    with closing(Web(PipSettings())) as web, refused:
        web.get("https://127.0.0.1:9/", {}, 10)


def test_a_page_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is fast enough, and never comes to an end."""
    monkeypatch.setattr(web_module, "_PATIENCE", 0.2)
    is_over = threading.Event()

    def pour(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not is_over.wait(0.02):
                connection.sendall(b"." * (1 << 12))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=pour, args=(server,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
        refused = pytest.raises(UpstreamError, match="/simple takes more than 0 s")
        settings = PipSettings(timeout=5, retries=0)
        with closing(Web(settings)) as web, ending_in(60), refused:
            web.get(url, {}, 1 << 30)
        is_over.set()
        thread.join()


def test_an_invalid_url_is_an_error() -> None:
    """A URL that is malformed, or not HTTP, is an UpstreamError and no other exception."""
    too_long = "https://" + "a" * 300 + "/x"
    web = Web(PipSettings(retries=0))
    for url in ("http://", "http://[::1", "http://a:b/", "ftp://a/", too_long):
        with pytest.raises(UpstreamError):
            web.content(url).tail(10)
    web.close()


@pytest.mark.parametrize(
    "proxy",
    [
        "http://me:cret@host:cret",
        "http://me:[cret]@127.0.0.1:1",
        "http://me:\u2100cret@127.0.0.1:1",
    ],
)
def test_a_malformed_proxy_is_not_quoted(proxy: str) -> None:
    """Its URL may have a password anywhere."""
    settings = PipSettings(proxy=proxy, retries=0)
    with closing(Web(settings)) as web, pytest.raises(UnreachableError) as caught:
        web.get("http://host.invalid/simple/up/", {}, 10)
    assert "malformed" in str(caught.value)
    assert "cret" not in str(caught.value)


REPLIES = [
    b"NOPE cret\r\n\r\n",
    b"HTTP/9.9cret 200 OK\r\n\r\n",
    b"HTTP/1.1 cret\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ncret\r\n",
]


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_that_is_no_http_is_not_quoted(reply: bytes) -> None:
    """It may be long, or repeat the login that it was asked with."""

    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/simple/up/"
        settings = PipSettings(timeout=5, retries=0)
        with (
            closing(Web(settings)) as web,
            pytest.raises(UpstreamError, match=r"no HTTP|IncompleteRead") as caught,
        ):
            web.get(url, {}, 10)
        thread.join()
    assert "cret" not in str(caught.value)


def test_a_server_cannot_ask_for_hours() -> None:
    """A busy server is asked again soon, whenever it asks to be."""

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.send_header("Retry-After", "3600")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/simple/up/"
        settings = PipSettings(retries=1, timeout=1e12)
        with closing(Web(settings)) as web, pytest.raises(StatusError):
            web.get(url, {}, 10)
        server.shutdown()

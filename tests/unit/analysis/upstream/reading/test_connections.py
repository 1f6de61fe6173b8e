"""How pip's settings reach the wire: certificates, proxies, patience."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.upstream import archives
from analysis.upstream.server import Shop, serving
from analysis.upstream.shops import WHEEL
from patchkit.analysis.upstream.reading.releases import find_releases
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
    with serving(shop, CERTIFICATE) as found:
        yield found


def read(buyer: Customer, **settings: object) -> bytes | None:
    with buyer.library(**settings) as library:
        [release] = find_releases("up", library)
        return release.source.read("up/core.py")


def test_a_certificate_that_is_not_believed(buyer: Customer, secure: Shop) -> None:
    """The error names the settings that say whom to believe."""
    with pytest.raises(
        UpstreamError, match=r"does not answer.*`cert` and `trusted-host`"
    ):
        read(buyer, indexes=(f"{secure.url}/simple",), retries=0)


def test_cert_says_whom_to_believe(buyer: Customer, secure: Shop) -> None:
    """Pip's `cert` is a bundle of authorities."""
    found = read(buyer, indexes=(f"{secure.url}/simple",), cert=str(CERTIFICATE))
    assert found == archives.FILES["up/core.py"]


def test_a_trusted_host_is_believed(buyer: Customer, secure: Shop) -> None:
    """Pip's `trusted-host`, with or without its port."""
    host = secure.url.removeprefix("https://")
    found = read(buyer, indexes=(f"{secure.url}/simple",), trusted_hosts=(host,))
    assert found == archives.FILES["up/core.py"]


def test_trust_ends_at_the_host_that_is_trusted(buyer: Customer, secure: Shop) -> None:
    """A redirect from a trusted host does not vouch for where it leads."""
    other = secure.url.rpartition(":")[2]
    trusted = buyer.shop.url.removeprefix("http://")
    assert other not in trusted
    buyer.shop.files["up-1.0.tar.gz"] = b""
    with buyer.library(trusted_hosts=(trusted,), retries=0) as library:
        [release] = find_releases("up", library)
        release.link = release.link._replace(url=f"{secure.url}/files/up-1.0.tar.gz")
        with pytest.raises(UpstreamError, match="trusted-host"):
            release.source.paths()


@pytest.mark.parametrize("way", ["setting", "variable"])
def test_a_proxy_is_asked_instead(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Pip's `proxy`, else the environment's; it may know names that nobody here does."""
    buyer.shop.files[WHEEL.format("1.0")] = archives.wheel()
    if way == "variable":
        monkeypatch.setenv("http_proxy", buyer.shop.url)
    proxy = {"proxy": buyer.shop.url} if way == "setting" else {}
    assert read(buyer, indexes=("http://index.invalid/simple",), **proxy)
    assert all("http://index.invalid/" in line for line in buyer.shop.asked)


def test_no_proxy_is_respected(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host in `no_proxy` is asked itself."""
    buyer.shop.files[WHEEL.format("1.0")] = archives.wheel()
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert read(buyer)


def test_a_server_that_says_nothing(tmp_path: Path) -> None:
    """After pip's `timeout` it counts as one that does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        held: list[socket.socket] = []
        thread = threading.Thread(
            target=lambda: held.append(silent.accept()[0]), daemon=True
        )
        thread.start()
        web = Web(PipSettings(timeout=0.2, retries=0))
        with pytest.raises(UnreachableError, match=f"127.0.0.1:{port} does not answer"):
            web.get(f"http://127.0.0.1:{port}/", {}, 10)
        web.close()
        thread.join()
        held[0].close()


def test_a_url_that_is_none() -> None:
    """Whatever an index writes into its links, it is an error of that file."""
    web = Web(PipSettings(retries=0))
    for url in (
        "http://",
        "http://[::1",
        "http://a:b/",
        "ftp://a/",
        "https://" + "a" * 300 + "/x",
    ):
        with pytest.raises(UpstreamError):
            web.content(url).tail(10)
    web.close()

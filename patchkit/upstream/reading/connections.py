"""
Connections as pip's settings ask for them: certificates, proxies, retries, names and passwords.

They are kept and shared; a host that cannot be reached is asked once, not once a release.
"""

from __future__ import annotations

import contextlib
import importlib
import netrc
import re
import threading
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from patchkit.errors import PatchkitError, UnreachableError, UpstreamError
from patchkit.upstream.reading.url import bare, check_url, host_of, redirected, user_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from patchkit.upstream.reading.settings import PipSettings

CONNECTIONS = 8
_REDIRECTS = 10
# What servers answer while they are busy or being restarted; pip tries again at the same ones.
_PASSING = (500, 502, 503, 520, 524, 527)


class BrokenOffError(UpstreamError):
    """An answer that has begun does not end."""


class NoClientError(PatchkitError):
    """What reads an index is not installed: no release's fault."""


class Connections:
    """
    What requests go through, and which hosts take none.

    Args:
        settings: pip's.
        offline: True asks nobody.

    """

    def __init__(self, settings: PipSettings, *, offline: bool = False) -> None:
        self._settings = settings
        self._offline = offline
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(CONNECTIONS)
        self._managers: dict[tuple[str, bool], Any] = {}
        self._down: dict[str, str] = {}
        self._passwords = dict(filter(None, map(_password, _places(settings))))

    def close(self) -> None:
        """Close all of them."""
        for manager in self._managers.values():
            manager.clear()

    @contextlib.contextmanager
    def answer(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> Iterator[tuple[Any, str]]:
        """
        Ask, and give back the response, not yet read, with the URL that gave it after redirects.

        Raises:
            UnreachableError: nobody answers.
            BrokenOffError: the answer ends before it is read.
            UpstreamError: there is no such URL, or it redirects without end.

        """
        with self._turns:
            response, url = self._followed(method, url, headers)
            try:
                yield response, url
            except _urllib3().exceptions.HTTPError as error:
                reason = f"{host_of(url)} breaks off its answer ({_reason(error)})"
                raise BrokenOffError(reason) from error
            finally:
                _let_go(response)

    def _followed(self, method: str, url: str, headers: Mapping[str, str]) -> tuple[Any, str]:
        """
        Follow redirects.

        Each host on the way has its own password and its own claim to be trusted, or not.
        """
        for _ in range(_REDIRECTS):
            check_url(url)
            response = self._begun(method, url, headers)
            location = response.get_redirect_location()
            if not location:
                return response, url
            response.close()
            url = redirected(url, location)
        raise UpstreamError(f"{host_of(url)} redirects more than {_REDIRECTS} times")

    def _begun(self, method: str, url: str, headers: Mapping[str, str]) -> Any:
        self._check_reachable(url)
        headers = {**self._login(url), **headers}
        try:
            return self._manager(url).request(
                method, bare(url), headers=headers, preload_content=False, redirect=False
            )
        except (_urllib3().exceptions.HTTPError, ValueError) as error:
            raise self._unreachable(url, error) from error

    def _check_reachable(self, url: str) -> None:
        if self._offline:
            raise UnreachableError("patchkit is offline")
        with self._lock:
            reason = self._down.get(host_of(url))
        if reason:
            raise UnreachableError(reason)

    def _unreachable(self, url: str, error: Exception) -> UnreachableError:
        reason = f"{host_of(url)} does not answer ({_reason(error)})"
        cause = getattr(error, "reason", error)
        names = {kind.__name__ for kind in type(cause).__mro__}
        if names & {
            "NewConnectionError",
            "NameResolutionError",
            "ConnectTimeoutError",
            "ProxyError",
        }:
            with self._lock:
                self._down[host_of(url)] = reason
        if "SSLError" in names:
            reason += "; pip's settings `cert` and `trusted-host` say whom to believe"
        return UnreachableError(reason)

    def _manager(self, url: str) -> Any:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        trusted = self._settings.trusts((parts.hostname or "").lower(), port)
        key = (self._proxy(parts.scheme, parts.hostname or "") or "", trusted)
        with self._lock:
            if key not in self._managers:
                self._managers[key] = self._new_manager(*key)
            return self._managers[key]

    def _proxy(self, scheme: str, host: str) -> str | None:
        if self._settings.proxy:
            return self._settings.proxy
        if urllib.request.proxy_bypass(host):
            return None
        proxies = urllib.request.getproxies()
        return proxies.get(scheme) or proxies.get("all")

    def _new_manager(self, proxy: str, trusted: bool) -> Any:
        http = _urllib3()
        options: dict[str, Any] = {
            "maxsize": CONNECTIONS,
            "timeout": http.Timeout(self._settings.timeout or None),
            "retries": self._retries(),
            "cert_reqs": "CERT_NONE" if trusted else "CERT_REQUIRED",
            "cert_file": self._settings.client_cert,
            **self._authorities(),
        }
        if trusted:
            http.disable_warnings(http.exceptions.InsecureRequestWarning)
        if not proxy:
            return http.PoolManager(**options)
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        login = http.make_headers(proxy_basic_auth=user_of(proxy)) if user_of(proxy) else None
        return http.ProxyManager(bare(proxy), proxy_headers=login, **options)

    def _authorities(self) -> dict[str, str]:
        cert = self._settings.cert
        if not cert:
            return {}
        return {"ca_cert_dir" if Path(cert).is_dir() else "ca_certs": cert}

    def _retries(self) -> Any:
        tries = self._settings.retries
        return _urllib3().Retry(
            total=None,
            connect=tries,
            read=tries,
            status=tries,
            other=tries,
            redirect=0,
            backoff_factor=0.25,
            status_forcelist=_PASSING,
            raise_on_status=False,
        )

    def _login(self, url: str) -> dict[str, str]:
        user = user_of(url) or self._passwords.get(host_of(url)) or _of_netrc(url)
        return _urllib3().make_headers(basic_auth=user) if user else {}


def _urllib3() -> Any:
    """Import it late: whoever reads what lies here needs none of it."""
    try:
        return importlib.import_module("urllib3")
    except ImportError as error:
        text = f"cannot import urllib3 ({error}), which patchkit reads an index with"
        raise NoClientError(f"{text}: pip install 'urllib3>=2'") from error


def _let_go(response: Any) -> None:
    """Keep the connection where the answer was read to its end; drop it where there is more."""
    if response.length_remaining == 0 or response.isclosed():
        response.release_conn()
    else:
        response.close()


def _places(settings: PipSettings) -> list[str]:
    return [*settings.indexes, *settings.find_links]


def _password(url: str) -> tuple[str, str] | None:
    user = user_of(url)
    return (host_of(url), user) if user else None


def _of_netrc(url: str) -> str | None:
    try:
        found = netrc.netrc().authenticators(urlsplit(url).hostname or "")
    except (OSError, netrc.NetrcParseError):
        return None
    return f"{found[0]}:{found[2]}" if found else None


def _reason(error: BaseException) -> str:
    """What went wrong, without the layers that it went through."""
    cause = getattr(error, "reason", None) or error
    # urllib3 begins with the connection's representation.
    return re.sub(r"^<?\w*Connection\w*\(.*?\)>?: ", "", str(cause))

"""Connections as pip's settings ask for them: certificates, proxies, retries, passwords."""

import contextlib
import netrc
import re
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import urllib3
from urllib3 import exceptions

from patchkit.analysis.upstream.reading.parallel import CONNECTIONS
from patchkit.analysis.upstream.reading.replies import host_of, joined, without_secrets
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.errors import UnreachableError, UpstreamError

_REDIRECTS = 10
_PASSING = (500, 502, 503, 520, 524, 527)
"""What servers answer while they are busy or being restarted; pip tries again at the same."""
_DOWN = (exceptions.NewConnectionError, exceptions.ConnectTimeoutError, exceptions.ProxyError)


class Connections:
    """What requests go through; a host that cannot be reached is asked once. Offline, none is."""

    def __init__(self, settings: PipSettings, *, offline: bool = False) -> None:
        self._settings = settings
        self._offline = offline
        self._lock = threading.Lock()
        self._managers: dict[tuple[str, bool], urllib3.PoolManager] = {}
        self._down: dict[str, str] = {}
        places = (*settings.indexes, *settings.find_links)
        self._logins = {host_of(url): login for url in places if (login := _login_of(url))}

    def close(self) -> None:
        """Close all of them."""
        for manager in self._managers.values():
            manager.clear()

    @contextlib.contextmanager
    def answer(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> Iterator[tuple[urllib3.BaseHTTPResponse, str]]:
        """Ask, and give back the response, not yet read, with the URL that gave it after redirects.

        Raises UnreachableError where nobody answers, and UpstreamError where the answer ends before
        it is read, where it is no URL, or redirects without end.
        """
        response, url = self._followed(method, url, headers)
        try:
            yield response, url
        except exceptions.HTTPError as error:
            reason = f"{host_of(url)} breaks off its answer ({_reason(error)})"
            raise UpstreamError(reason) from error
        finally:
            _let_go(response)

    def _followed(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> tuple[urllib3.BaseHTTPResponse, str]:
        """Follow redirects; each host has its own proxy, password and claim to be trusted."""
        location = url
        for _ in range(_REDIRECTS):
            url = _whole(url, location)
            response = self._begun(method, url, headers)
            location = response.get_redirect_location() or ""
            if not location:
                return response, url
            _let_go(response)
        raise UpstreamError(f"{host_of(url)} redirects more than {_REDIRECTS} times")

    def _begun(self, method: str, url: str, headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        if self._offline:
            raise UnreachableError("patchkit is offline, and has not read it before")
        host = host_of(url)
        if reason := self._down.get(host):
            raise UnreachableError(reason)
        if host not in self._logins:
            self._logins[host] = _of_netrc(url)
        login = _login_of(url) or self._logins[host]
        own = urllib3.make_headers(basic_auth=login) if login else {}
        try:
            return self._manager(url).request(
                method,
                without_secrets(url).partition("#")[0],
                headers={**own, **headers},
                preload_content=False,
                redirect=False,
            )
        except (exceptions.HTTPError, ValueError) as error:
            raise self._unreachable(url, error) from error

    def _unreachable(self, url: str, error: Exception) -> UnreachableError:
        reason = f"{host_of(url)} does not answer ({_reason(error)})"
        cause = getattr(error, "reason", error)
        if isinstance(cause, _DOWN):
            self._down[host_of(url)] = reason
        if isinstance(cause, exceptions.SSLError):
            reason += "; pip's settings `cert` and `trusted-host` say whom to believe"
        return UnreachableError(reason)

    def _manager(self, url: str) -> urllib3.PoolManager:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        key = (self._proxy(parts.scheme, host), self._settings.trusts(host, port))
        with self._lock:
            if key not in self._managers:
                self._managers[key] = self._new_manager(*key)
            return self._managers[key]

    def _proxy(self, scheme: str, host: str) -> str:
        if self._settings.proxy:
            return self._settings.proxy
        proxies = {} if urllib.request.proxy_bypass(host) else urllib.request.getproxies()
        return proxies.get(scheme) or proxies.get("all") or ""

    def _new_manager(self, proxy: str, trusted: bool) -> urllib3.PoolManager:
        settings = self._settings
        options: dict[str, Any] = {
            "maxsize": CONNECTIONS,
            "block": True,
            "timeout": urllib3.Timeout(settings.timeout or None),
            "retries": urllib3.Retry(
                settings.retries,
                backoff_factor=0.25,
                status_forcelist=_PASSING,
                raise_on_status=False,
            ),
            "cert_reqs": "CERT_NONE" if trusted else "CERT_REQUIRED",
            "cert_file": settings.client_cert,
        }
        if settings.cert:
            kind = "ca_cert_dir" if Path(settings.cert).is_dir() else "ca_certs"
            options[kind] = settings.cert
        if trusted:
            urllib3.disable_warnings(exceptions.InsecureRequestWarning)
        if not proxy:
            return urllib3.PoolManager(**options)
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        login = _login_of(proxy)
        headers = urllib3.make_headers(proxy_basic_auth=login) if login else None
        return urllib3.ProxyManager(without_secrets(proxy), proxy_headers=headers, **options)


def _let_go(response: urllib3.BaseHTTPResponse) -> None:
    """Keep the connection where the answer was read to its end; drop it where there is more."""
    if getattr(response, "length_remaining", None) == 0:
        response.drain_conn()
    else:
        response.close()
    response.release_conn()


def _whole(base: str, location: str) -> str:
    url = joined(base, location)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        found = without_secrets(url) or location
        raise UpstreamError(f"found {found!r}, expected a URL of http or https")
    return url


def _login_of(url: str) -> str:
    return unquote(urlsplit(url).netloc.rpartition("@")[0])


def _of_netrc(url: str) -> str:
    try:
        found = netrc.netrc().authenticators(urlsplit(url).hostname or "")
    except (OSError, netrc.NetrcParseError):
        return ""
    return f"{found[0]}:{found[2]}" if found else ""


def _reason(error: BaseException) -> str:
    cause = getattr(error, "reason", None) or error
    # urllib3 begins with the connection's representation.
    return re.sub(r"^<?\w*Connection\w*\(.*?\)>?: ", "", str(cause))

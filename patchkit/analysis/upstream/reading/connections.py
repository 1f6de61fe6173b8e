"""Connects to servers as pip's settings say: certificates, proxies, retries, passwords."""

import base64
import contextlib
import netrc
import re
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import BadStatusLine, RemoteDisconnected, UnknownProtocol
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import urllib3
from urllib3 import exceptions

from patchkit.analysis.upstream.reading.certificates import (
    new_context,
    refuse_pipes,
)
from patchkit.analysis.upstream.reading.parallel import CONNECTIONS
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.urls import host_of, joined, without_secrets
from patchkit.analysis.upstream.reading.watchdog import (
    SLOWEST,
    SlowServerError,
    Watchdog,
)
from patchkit.errors import UnreachableError, UpstreamError

NEVER_READ = ", and has not read it before"
"""The end of what is said of a request that is not sent, unless its old reply can be used."""
_MAX_REDIRECTS = 10
_TRANSIENT = (500, 502, 503, 520, 524, 527)
"""Status codes of servers that are busy or being restarted; pip retries at the same ones."""
_LONGEST = 1e6
"""Seconds; a socket refuses to wait much longer."""
_DEFAULT_PORTS = {"https": 443}
_OTHER_PORT = 80
_DOWN = (
    exceptions.NewConnectionError,
    exceptions.ConnectTimeoutError,
    exceptions.ProxyError,
)
"""Errors after which a host is not tried again."""
_QUOTING = (BadStatusLine, UnknownProtocol, exceptions.InvalidChunkLength)
"""Errors whose messages quote what the server has sent, which may be long, and may be a secret.

`RemoteDisconnected` is such an error by its class, and quotes nothing.
"""


class _ManagerKey(NamedTuple):
    """The settings of a pool manager; requests for which they are equal share connections."""

    proxy: str
    is_trusted: bool
    has_shared_context: bool


class Connections:
    """Sends requests over shared connections; a host that cannot be reached is tried once.

    Args:
        settings: pip's settings.
        offline: Whether to send no requests.
    """

    def __init__(self, settings: PipSettings, *, offline: bool = False) -> None:
        self._settings = settings
        self._offline = offline
        self._lock = threading.Lock()
        self._watchdog = Watchdog()
        self._managers: dict[_ManagerKey, urllib3.PoolManager] = {}
        self._down: dict[str, str] = {}  # why a host cannot be reached
        self._logins: dict[str, str] = {}  # `name:password` of a host; '' for none
        for url in (*settings.indexes, *settings.find_links):
            login = _login_of(url)
            if login:
                self._logins[host_of(url)] = login

    def close(self) -> None:
        """Close all of them."""
        self._watchdog.close()
        for manager in self._managers.values():
            manager.clear()

    @contextlib.contextmanager
    def answer(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> Iterator[tuple[urllib3.BaseHTTPResponse, str]]:
        """Send a request; the response can be read until the context ends.

        Args:
            method: The HTTP method, such as `GET`.
            url: The URL.
            headers: Headers of the request.

        Yields:
            The response, and the URL that has answered after redirects.

        Raises:
            UnreachableError: The server cannot be reached.
            UpstreamError: The response ends too early, the URL is malformed, or there are too many
                redirects.
        """
        response, url = self._follow(method, url, headers)
        watched = self._watchdog.of(response)
        try:
            yield response, url
        except exceptions.HTTPError as error:
            if watched.is_cut:
                raise self._too_slow(url) from error
            reason = f"{host_of(url)} stops in the middle of its answer ({_reason(error, url)})"
            raise UpstreamError(reason) from error
        finally:
            self._release(response)

    def received(self, response: urllib3.BaseHTTPResponse, url: str, size: int) -> None:
        """Count what a server has sent.

        Args:
            response: The response.
            url: What was asked for.
            size: The bytes that have come of it.

        Raises:
            UnreachableError: The server sends next to nothing, so that the end would never come.
        """
        watched = self._watchdog.of(response)
        watched.received(size)
        if watched.is_cut:
            raise self._too_slow(url)

    def _follow(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> tuple[urllib3.BaseHTTPResponse, str]:
        """Send a request and follow redirects; return the response, and the URL that it is from.

        urllib3 does not follow them itself, as each host may need another proxy, login or trust.
        """
        location = url
        for _ in range(_MAX_REDIRECTS):
            url = _absolute(url, location)
            response = self._send(method, url, headers)
            location = response.get_redirect_location() or ""
            if not location:
                return response, url
            self._release(response)
        raise UpstreamError(
            f"{host_of(url)} redirects more than {_MAX_REDIRECTS} times"
        )

    def _send(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        """Send one request, with the host's login; raise UnreachableError if there is no answer."""
        if self._offline:
            raise UnreachableError(f"patchkit is offline{NEVER_READ}")
        reason = self._down.get(host_of(url))
        if reason:
            raise UnreachableError(reason)
        login = self._login(url)
        credentials = {"Authorization": _basic(login)} if login else {}
        try:
            return self._manager(url).request(
                method,
                without_secrets(url).partition("#")[0],  # a server gets no fragment
                headers={**credentials, **headers},
                preload_content=False,
                redirect=False,  # see `_follow`
            )
        except SlowServerError as error:
            raise self._too_slow(url) from error
        except (exceptions.HTTPError, OSError, ValueError) as error:
            raise self._unreachable(url, error) from error

    def _login(self, url: str) -> str:
        """Return the login for a URL: its own, that of pip's settings, or that of `~/.netrc`.

        It is `name:password`, or '' for none. The file is read once for each host.
        """
        host = host_of(url)
        if host not in self._logins:
            self._logins[host] = _login_of_netrc(url)
        return _login_of(url) or self._logins[host]

    def _unreachable(self, url: str, error: Exception) -> UnreachableError:
        """Return the error for a request that failed; note a host that is down.

        Further requests to such a host fail at once, for the reason that is noted.
        """
        reason = f"{host_of(url)} does not answer ({_reason(error, url)})"
        cause = getattr(error, "reason", error)  # the error before the last retry
        if isinstance(cause, _DOWN):
            self._down[host_of(url)] = reason
        if isinstance(cause, exceptions.SSLError):
            reason += "; pip's settings `cert` and `trusted-host` say whom to trust"
        return UnreachableError(reason)

    def _too_slow(self, url: str) -> UnreachableError:
        """Return the error for a server that sends next to nothing; it is not asked again."""
        reason = f"{host_of(url)} sends less than {SLOWEST:,} bytes a second"
        self._down[host_of(url)] = reason
        return UnreachableError(reason)

    def _manager(self, url: str) -> urllib3.PoolManager:
        """Return the pool manager for a URL, by its proxy and whether its host is trusted."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, _OTHER_PORT)
        is_trusted = self._settings.trusts(host, port)
        proxy = self._proxy(parts.scheme, host)
        # urllib3 loads a client's certificate into the context for each connection, which no two
        # threads may do at once, and has another context for a proxy.
        is_plain = not (is_trusted or proxy or self._settings.client_cert)
        key = _ManagerKey(proxy, is_trusted, is_plain and parts.scheme == "https")
        with self._lock:
            if key not in self._managers:
                self._managers[key] = self._new_manager(key)
            return self._managers[key]

    def _proxy(self, scheme: str, host: str) -> str:
        """Return the URL of the proxy for a host, by settings or environment; '' for none."""
        if self._settings.proxy:
            return self._settings.proxy
        if urllib.request.proxy_bypass(host):
            return ""
        proxies = urllib.request.getproxies()
        return proxies.get(scheme) or proxies.get("all") or ""

    def _new_manager(self, key: _ManagerKey) -> urllib3.PoolManager:
        """Make a pool manager, for a proxy if the key has one."""
        options = self._options(key)
        if not key.proxy:
            return self._watch(urllib3.PoolManager(**options))
        proxy = key.proxy
        if "://" not in proxy:
            proxy = f"http://{proxy}"
        login = _login_of(proxy)
        headers = {"Proxy-Authorization": _basic(login)} if login else None
        manager = urllib3.ProxyManager(
            without_secrets(proxy), proxy_headers=headers, **options
        )
        return self._watch(manager)

    def _watch(self, manager: urllib3.PoolManager) -> urllib3.PoolManager:
        """Let the watchdog look at the connections of a manager; return the manager."""
        manager.pool_classes_by_scheme = self._watchdog.pools()
        return manager

    def _release(self, response: urllib3.BaseHTTPResponse) -> None:
        """Return a connection to its pool; close it if its response was not read to the end."""
        self._watchdog.release(self._watchdog.of(response))
        if getattr(response, "length_remaining", None) == 0:
            response.drain_conn()
        else:
            response.close()
        response.release_conn()

    def _options(self, key: _ManagerKey) -> dict[str, Any]:
        """Return the arguments of a pool manager for timeouts, retries and certificates."""
        settings = self._settings
        refuse_pipes(settings.cert, settings.client_cert)
        options: dict[str, Any] = {
            "maxsize": CONNECTIONS,
            "block": True,  # wait for one of them, and make no more
            "timeout": urllib3.Timeout(min(settings.timeout, _LONGEST) or None),
            "retries": urllib3.Retry(
                settings.retries,
                backoff_factor=0.25,  # as pip has it
                respect_retry_after_header=False,  # a server may ask for hours
                status_forcelist=_TRANSIENT,
                raise_on_status=False,  # `Web` does, with a better message
            ),
            "cert_reqs": "CERT_REQUIRED",
            "cert_file": settings.client_cert,
        }
        if key.has_shared_context:
            options["ssl_context"] = new_context(settings.cert)
        elif settings.cert:
            kind = "ca_cert_dir" if Path(settings.cert).is_dir() else "ca_certs"
            options[kind] = settings.cert
        if key.is_trusted:
            options["cert_reqs"] = "CERT_NONE"
            urllib3.disable_warnings(exceptions.InsecureRequestWarning)
        return options


def _absolute(base: str, location: str) -> str:
    """Return the absolute URL of a redirect; raise UpstreamError if it is not one of HTTP."""
    url = joined(base, location)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        # The server chose it, and any part may be secret; `url` is '' if it is malformed.
        place = f"a URL of {parts.scheme}" if parts.scheme else "a malformed URL"
        if parts.scheme in ("http", "https"):
            place = "a URL without a host"
        raise UpstreamError(f"found {place}, expected a URL of http or https")
    return url


def _login_of(url: str) -> str:
    """Return `name:password` of `https://name:password@host/`; '' for none."""
    return unquote(urlsplit(url).netloc.rpartition("@")[0])


def _basic(login: str) -> str:
    """Return the header for `name:password`, in Latin-1 as of old, or UTF-8 for other letters."""
    try:
        data = login.encode("latin-1")
    except UnicodeEncodeError:
        data = login.encode("utf-8", "surrogateescape")
    return f"Basic {base64.b64encode(data).decode()}"


def _login_of_netrc(url: str) -> str:
    """Return `name:password` of a URL's host from `~/.netrc`; '' for none.

    As with pip, a file that cannot be read has none.
    """
    file = Path("~/.netrc")
    try:
        if not file.expanduser().is_file():  # a pipe would be waited for
            return ""
        entry = netrc.netrc().authenticators(urlsplit(url).hostname or "")
    except (OSError, RuntimeError, ValueError, netrc.NetrcParseError):
        # RuntimeError: there is no home. ValueError: the text is not UTF-8.
        return ""
    if entry is None:
        return ""
    name, _, password = entry
    return f"{name}:{password}"


def _reason(error: BaseException, url: str) -> str:
    """Return the message of an error, or of the error that urllib3 has wrapped in it.

    Args:
        error: The error.
        url: What was asked for, of which the message may have parts that are secret.
    """
    cause = getattr(error, "reason", None) or error
    is_malformed = isinstance(cause, ValueError) and not isinstance(
        cause, exceptions.HTTPError
    )
    if is_malformed or isinstance(cause, exceptions.LocationParseError):
        # Its message quotes what may be a password, of the URL or of the proxy's.
        return "its URL, or that of the proxy, is malformed"
    for wrapped in (cause, *getattr(cause, "args", ())):  # `reason` may be a text
        is_quoting = isinstance(wrapped, _QUOTING)
        if is_quoting and not isinstance(wrapped, RemoteDisconnected):
            return "its reply is no HTTP"
    # urllib3 begins with the connection: `HTTPSConnectionPool(host='up', port=443): Read timed out`
    text = re.sub(r"^<?\w*Connection\w*\(.*?\)>?: ", "", str(cause))
    path_and_query = without_secrets(url).partition(host_of(url))[2]
    if len(path_and_query) > 1:
        text = text.replace(path_and_query, "/…")
    return text

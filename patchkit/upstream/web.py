"""
HTTP as pip's settings ask for it: certificates, proxies, retries, names and passwords.

Connections are kept and shared; a host that cannot be reached is asked once, not once a release.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import netrc
import re
import tempfile
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urljoin, urlsplit

from patchkit.errors import UnreachableError, UpstreamError
from patchkit.upstream.archive import MAX_DOWNLOAD
from patchkit.upstream.settings import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from patchkit.upstream.archive import Span
    from patchkit.upstream.settings import PipSettings

T = TypeVar("T")

CONNECTIONS = 8
_PIECE = 1 << 20
_REDIRECTS = 10
_BODY_TRIES = 3
# What servers answer while they are busy or being restarted; pip tries again at the same ones.
_PASSING = (500, 502, 503, 520, 524, 527)
_PLAIN = {"Accept-Encoding": "identity"}
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class StatusError(UpstreamError):
    """
    A server answers that it does not give what was asked for.

    Args:
        url: what was asked for.
        status: the answer.

    """

    def __init__(self, url: str, status: int) -> None:
        reasons = {
            401: "; a name and password belong in the index's URL or in ~/.netrc",
            403: "; a name and password belong in the index's URL or in ~/.netrc",
            404: ": it is not there, or not any more",
            410: ": it is not there any more",
        }
        super().__init__(f"{_host(url)} answers {status}{reasons.get(status, '')}")
        self.status = status


class NoRangesError(UpstreamError):
    """A server sends files whole or not at all."""


@dataclass(frozen=True)
class Reply:
    """
    An answer.

    Args:
        status: of HTTP.
        url: what has answered, after redirects.
        headers: by lower-case name.
        body: its bytes.

    """

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


class Web:
    """
    What the index and its files are fetched with.

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
        self._workers = ThreadPoolExecutor(CONNECTIONS, "patchkit-web")
        self.moved = 0

    def close(self) -> None:
        """Close all connections."""
        self._workers.shutdown(cancel_futures=True)
        for manager in self._managers.values():
            manager.clear()

    def get(self, url: str, headers: Mapping[str, str], limit: int) -> Reply:
        """
        Fetch something small.

        Raises:
            UnreachableError: nobody answers.
            StatusError: the server does not give it.
            UpstreamError: it has more bytes than the limit.

        """
        reply = self._asked("GET", url, headers, limit)
        if reply.status not in (200, 304):
            raise StatusError(url, reply.status)
        if len(reply.body) > limit:
            raise UpstreamError(f"{without_secrets(url)} has more than {limit:,} bytes")
        return reply

    def tail(self, url: str, size: int) -> tuple[bytes, int]:
        """
        Fetch a file's last bytes.

        Returns:
            At most `size` bytes, all where the file has fewer, and how many the file has.

        Raises:
            NoRangesError: the server sends files whole.
            UpstreamError: it cannot be fetched.

        """
        reply = self._asked("GET", url, {"Range": f"bytes=-{size}", **_PLAIN}, size)
        if reply.status in (400, 416, 501):
            # It may know ranges, and not those that are counted from the end.
            total = self._length(url)
            return self.span(url, (max(0, total - size), total))
        start, end, total = _range_of(url, reply)
        if end != total or end - start != min(size, total):
            raise UpstreamError(_other_range(url, (total - size, total), (start, end)))
        return reply.body, total

    def span(self, url: str, span: Span) -> tuple[bytes, int]:
        """
        Fetch some of a file's bytes.

        Returns:
            The bytes, and how many the file has.

        Raises:
            NoRangesError: the server sends files whole.
            UpstreamError: they cannot be fetched.

        """
        start, end = span
        headers = {"Range": f"bytes={start}-{end - 1}", **_PLAIN}
        reply = self._asked("GET", url, headers, end - start)
        found_start, found_end, total = _range_of(url, reply)
        if (found_start, found_end) != span:
            raise UpstreamError(_other_range(url, span, (found_start, found_end)))
        return reply.body, total

    def spans(self, url: str, spans: Sequence[Span]) -> list[tuple[bytes, int]]:
        """Fetch several spans at once, as `span` does each."""
        if len(spans) == 1:
            return [self.span(url, spans[0])]
        return list(self._workers.map(lambda span: self.span(url, span), spans))

    @contextlib.contextmanager
    def download(self, url: str, sha256: str | None) -> Iterator[Path]:
        """
        Fetch a whole file into a place that goes with the context.

        Args:
            url: the file's.
            sha256: what its bytes have, None where that is not known.

        Raises:
            UpstreamError: it cannot be fetched, is too large, or is another file.

        """
        with tempfile.TemporaryDirectory(prefix="patchkit-") as directory:
            place = Path(directory, urlsplit(url).path.rpartition("/")[2] or "file")
            try:
                found = self._tried(lambda: self._stream(url, place))
            except OSError as error:
                raise UpstreamError(f"it cannot be written to {directory}: {error}") from error
            if sha256 and found != sha256:
                raise UpstreamError(
                    f"it is not the file of the index: found SHA-256 {found}, expected {sha256}"
                )
            yield place

    def state(self, url: str) -> str:
        """
        Say which state a file is in, as its server tells states apart; empty where it does not.

        Raises:
            UpstreamError: it is not there, or nobody answers.

        """
        reply = self._asked("HEAD", url, _PLAIN, 0)
        if reply.status in (401, 403, 404, 410):
            raise StatusError(url, reply.status)
        names = ("etag", "last-modified", "content-length") if reply.status == 200 else ()
        return " ".join(reply.headers.get(name, "") for name in names)

    def _length(self, url: str) -> int:
        reply = self._asked("HEAD", url, _PLAIN, 0)
        length = reply.headers.get("content-length", "")
        if reply.status != 200 or not length.isdecimal():
            raise NoRangesError(f"{_host(url)} does not say how long its files are")
        return int(length)

    def _stream(self, url: str, place: Path) -> str:
        digest, size = hashlib.sha256(), 0
        with self._answer("GET", url, _PLAIN) as (response, final), place.open("wb") as file:
            if response.status != 200:
                raise StatusError(final, response.status)
            for piece in response.stream(_PIECE):
                size += len(piece)
                if size > MAX_DOWNLOAD:
                    raise UpstreamError(f"it has more than {MAX_DOWNLOAD:,} bytes")
                digest.update(piece)
                file.write(piece)
                self._count(len(piece))
        return digest.hexdigest()

    def _asked(self, method: str, url: str, headers: Mapping[str, str], limit: int) -> Reply:
        def once() -> Reply:
            with self._answer(method, url, headers) as (response, final):
                # An error's page, or a file in place of a range, is not read to its end.
                is_wanted = response.status == (206 if "Range" in headers else 200)
                body = response.read(limit + 1) if is_wanted else b""
                self._count(len(body))
                found = {name.lower(): value for name, value in response.headers.items()}
                return Reply(response.status, final, found, body)

        return self._tried(once)

    def _tried(self, once: Callable[[], T]) -> T:
        """Do it, and again where an answer breaks off; urllib3 sees to those that do not begin."""
        tries = min(self._settings.retries + 1, _BODY_TRIES)
        for left in reversed(range(tries)):
            try:
                return once()
            except _BrokenOffError:
                if not left:
                    raise
        raise AssertionError("there is one try at least")

    @contextlib.contextmanager
    def _answer(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> Iterator[tuple[Any, str]]:
        """The response, not yet read, and the URL that has given it after redirects."""
        with self._turns:
            response, url = self._followed(method, url, headers)
            try:
                yield response, url
            except _urllib3().exceptions.HTTPError as error:
                reason = f"{_host(url)} breaks off its answer ({_reason(error)})"
                raise _BrokenOffError(reason) from error
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
            url = _redirected(url, location)
        raise UpstreamError(f"{_host(url)} redirects more than {_REDIRECTS} times")

    def _begun(self, method: str, url: str, headers: Mapping[str, str]) -> Any:
        self._check_reachable(url)
        headers = {**self._login(url), **headers}
        try:
            return self._manager(url).request(
                method, _bare(url), headers=headers, preload_content=False, redirect=False
            )
        except (_urllib3().exceptions.HTTPError, ValueError) as error:
            raise self._unreachable(url, error) from error

    def _check_reachable(self, url: str) -> None:
        if self._offline:
            raise UnreachableError("patchkit is offline")
        with self._lock:
            reason = self._down.get(_host(url))
        if reason:
            raise UnreachableError(reason)

    def _unreachable(self, url: str, error: Exception) -> UnreachableError:
        reason = f"{_host(url)} does not answer ({_reason(error)})"
        cause = getattr(error, "reason", error)
        names = {kind.__name__ for kind in type(cause).__mro__}
        if names & {
            "NewConnectionError",
            "NameResolutionError",
            "ConnectTimeoutError",
            "ProxyError",
        }:
            with self._lock:
                self._down[_host(url)] = reason
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
        login = http.make_headers(proxy_basic_auth=_user(proxy)) if _user(proxy) else None
        return http.ProxyManager(_bare(proxy), proxy_headers=login, **options)

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
        user = _user(url) or self._passwords.get(_host(url)) or _of_netrc(url)
        return _urllib3().make_headers(basic_auth=user) if user else {}

    def _count(self, size: int) -> None:
        with self._lock:
            self.moved += size


def check_url(url: str) -> None:
    """
    Refuse what is no URL.

    Raises:
        UpstreamError: it is none.

    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UpstreamError(f"found {url!r}, which is no URL ({error})") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UpstreamError(f"found {without_secrets(url)!r}, expected a URL of http or https")


def _redirected(url: str, location: str) -> str:
    try:
        found = urljoin(url, location)
        check_url(found)
    except (ValueError, UpstreamError) as error:
        raise UpstreamError(f"{_host(url)} redirects to nowhere: {error}") from error
    return found


class _BrokenOffError(UpstreamError):
    """An answer that has begun does not end."""


def _urllib3() -> Any:
    try:
        return importlib.import_module("urllib3")
    except ImportError as error:
        raise UpstreamError(
            "reading releases from an index needs urllib3: pip install 'vllm-patchkit[releases]'"
        ) from error


def _let_go(response: Any) -> None:
    """Keep the connection where the answer was read to its end; drop it where there is more."""
    if response.length_remaining == 0 or response.isclosed():
        response.release_conn()
    else:
        response.close()


def _range_of(url: str, reply: Reply) -> tuple[int, int, int]:
    """The span that an answer claims, compared with what it brought."""
    if reply.status == 200:
        raise NoRangesError(f"{_host(url)} does not serve parts of files")
    if reply.status == 416:
        raise UpstreamError("it is shorter than it was: it has changed, or is cut off")
    if reply.status != 206:
        raise StatusError(url, reply.status)
    match = _CONTENT_RANGE.fullmatch(reply.headers.get("content-range", ""))
    if not match:
        raise NoRangesError(f"{_host(url)} does not say which part of the file it sends")
    first, last, total = map(int, match.groups())
    if len(reply.body) != last + 1 - first:
        raise UpstreamError(
            f"{_host(url)} sends {len(reply.body):,} bytes and calls them {last + 1 - first:,}"
        )
    return first, last + 1, total


def _other_range(url: str, asked: Span, found: Span) -> str:
    return (
        f"{_host(url)} sends bytes {found[0]}-{found[1]} of it when asked for {asked[0]}-{asked[1]}"
    )


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _bare(url: str) -> str:
    return without_secrets(url).partition("#")[0]


def _user(url: str) -> str | None:
    user = urlsplit(url).netloc.rpartition("@")[0]
    return unquote(user) or None


def _places(settings: PipSettings) -> list[str]:
    return [*settings.indexes, *settings.find_links]


def _password(url: str) -> tuple[str, str] | None:
    user = _user(url)
    return (_host(url), user) if user else None


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

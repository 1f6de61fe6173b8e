"""Ends connections to servers that send next to nothing.

The timeout of a socket begins anew with each byte, so a server may send one of them now and then,
in its headers or anywhere in its answer, and never come to an end.
"""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse

from patchkit.errors import UnreachableError

SLOWEST = 1 << 10
"""Bytes a second that a server has to send."""
PATIENCE = 30.0
"""Seconds after which a server is given up if it has sent less than that."""


class SlowServerError(UnreachableError):
    """A server has not come to the end of its headers."""


class Watched:
    """What one server sends.

    Args:
        sock: The socket, or what urllib3 puts around it for a proxy.
    """

    def __init__(self, sock: object) -> None:
        plain = getattr(sock, "socket", sock)
        self._socket = plain if isinstance(plain, socket.socket) else None
        self._began = time.monotonic()
        self._size = 0
        self.is_cut = False
        """Whether the connection was ended, as the server was too slow."""

    def restart(self) -> None:
        """Begin anew, as the headers are there."""
        self._began = time.monotonic()

    def received(self, size: int) -> None:
        """Count bytes of the answer.

        Args:
            size: Their number.
        """
        self._size += size

    def cut_if_slow(self) -> None:
        """End the connection if the server is too slow: who reads from it sees its end."""
        seconds = time.monotonic() - self._began
        if seconds < PATIENCE or self._size > seconds * SLOWEST:
            return
        self.is_cut = True
        if self._socket is not None:
            with suppress(OSError):
                # Not that of an `SSLSocket`, which is being read from in another thread.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Watchdog:
    """Looks at all connections once a second, in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, Watched] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def watch(self, sock: object) -> Watched:
        """Watch what comes from a socket, until `release`.

        Args:
            sock: The socket.

        Returns:
            What comes from it, to be counted.
        """
        watched = Watched(sock)
        with self._lock:
            # By the socket: the next request on it takes the place of one that was tried again.
            self._watched[id(sock)] = watched
            if self._thread is None:
                name = "patchkit-watchdog"
                self._thread = threading.Thread(
                    target=self._run, name=name, daemon=True
                )
                self._thread.start()
        return watched

    def release(self, watched: Watched) -> None:
        """Stop watching.

        Args:
            watched: What `watch` has returned.
        """
        with self._lock:
            for key, other in list(self._watched.items()):
                if other is watched:
                    del self._watched[key]

    def of(self, response: urllib3.BaseHTTPResponse) -> Watched:
        """Return what is watched of a response.

        Args:
            response: The response of a connection of one of the pools below.
        """
        watched: Watched = response.watched  # type: ignore[attr-defined]
        return watched

    def pools(self) -> dict[str, type]:
        """Return pools of connections that are watched, by scheme, for a pool manager."""
        watchdog = self

        class Plain(HTTPConnection):
            def getresponse(self) -> HTTPResponse:  # type: ignore[override]
                return watchdog.answer(self.sock, super().getresponse)

        class Secure(HTTPSConnection):
            def getresponse(self) -> HTTPResponse:  # type: ignore[override]
                return watchdog.answer(self.sock, super().getresponse)

        class PlainPool(urllib3.HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(urllib3.HTTPSConnectionPool):
            ConnectionCls = Secure

        return {"http": PlainPool, "https": SecurePool}

    def answer(
        self, sock: object, getresponse: Callable[[], HTTPResponse]
    ) -> HTTPResponse:
        """Wait for the headers of a response, which is watched from then on.

        Args:
            sock: The socket of the connection.
            getresponse: Waits for the headers.

        Returns:
            The response.

        Raises:
            SlowServerError: They do not come to an end.
        """
        watched = self.watch(sock)
        try:
            response = getresponse()
        except (OSError, HTTPException) as error:
            self.release(watched)
            if watched.is_cut:
                raise SlowServerError("its headers do not come to an end") from error
            raise
        watched.restart()
        response.watched = watched  # type: ignore[attr-defined]
        return response

    def _run(self) -> None:
        """Look at all connections, until `close`."""
        while not self._ended.wait(PATIENCE / 30):
            with self._lock:
                every = list(self._watched.values())
            for watched in every:
                watched.cut_if_slow()
                if watched.is_cut:
                    self.release(watched)

"""Sends requests to a server that `patchkit probe` starts, and then ends the server."""

import json
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import urllib3
from urllib3.exceptions import HTTPError

from patchkit.cli.output import say
from patchkit.cli.report.words import count
from patchkit.core.engines.engine import server_in
from patchkit.core.engines.entry_points import installed_engines

_PROMPT = "Hello"
_MAX_TOKENS = 8
_POLL_SECONDS = 0.2
"""How long to wait before asking again whether the server is ready."""
_ANSWER_SECONDS = 600.0
_FIRST_ERROR = 400
_PATHS = {
    "messages": "/v1/chat/completions",
    "prompt": "/v1/completions",
    "input": "/v1/embeddings",
}
"""The path of a request, by a key of its body."""
_ALL_INTERFACES = ("0.0.0.0", "::", "")  # noqa: S104 - the user's server listens there

Body = dict[str, Any]
"""The JSON body of a request."""


def read_requests(text: str) -> list[Body]:
    """Return the requests that `--requests N|FILE` asks for.

    Args:
        text: The value of the option: a number of small requests to make up, or a file with one
            JSON body a line.

    Returns:
        The bodies of the requests; the model is added when they are sent.

    Raises:
        UsageError: There is no such file, or a line of it is no body.
    """
    if text.isdecimal():
        body: Body = {"prompt": _PROMPT, "max_tokens": _MAX_TOKENS, "temperature": 0}
        return [dict(body) for _ in range(int(text))]
    try:
        lines = Path(text).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        expected = "expected a number, or a file with one JSON body a line"
        raise click.UsageError(
            f"--requests: found {text!r} ({error.strerror}), {expected}"
        ) from error
    bodies = [
        _read_body(f"{text}:{number}", line)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not bodies:
        raise click.UsageError(
            f"--requests: {text} is empty, expected a JSON body a line"
        )
    return bodies


def _read_body(place: str, line: str) -> Body:
    """Parse one line of a file of requests.

    Args:
        place: The file and the number of the line, for errors.
        line: The line.

    Raises:
        UsageError: It is no JSON object, or nothing in it tells which path it is for.
    """
    try:
        body = json.loads(line)
    except ValueError as error:
        raise click.UsageError(f"{place}: {error}, expected a JSON body") from error
    if not isinstance(body, dict) or not _PATHS.keys() & body.keys():
        keys = ", ".join(_PATHS)
        raise click.UsageError(
            f"{place}: found {line.strip()!r}, expected an object with one of {keys}"
        )
    return body


class ServerRequests:
    """Sends requests to a server in a thread, while the command that starts the server runs.

    Args:
        argv: The command, whose `--host` and `--port` say where the server listens.
        bodies: The bodies of the requests.
    """

    def __init__(self, argv: Sequence[str], bodies: Sequence[Body]) -> None:
        host = _option(argv, "--host") or ""
        if host in _ALL_INTERFACES:
            host = "127.0.0.1"
        if ":" in host:  # an IPv6 address
            host = f"[{host}]"
        server = server_in(argv, installed_engines())
        port = _option(argv, "--port") or (server.port if server else "8000")
        self.url = f"http://{host}:{port}"
        self.faults: list[str] = []
        """What went wrong, for the user."""
        self.has_ended_server = False
        key = _option(argv, "--api-key")
        if server is not None and not key:
            key = os.environ.get(server.key_variable)
        self._headers = {}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._bodies = bodies
        self._http = urllib3.PoolManager(retries=False)
        self._command_has_ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, pid: int) -> None:
        """Start the thread that sends the requests once the server is ready, and then ends it.

        Args:
            pid: The process of the command.
        """
        thread = threading.Thread(target=self._serve, args=(pid,), daemon=True)
        self._thread = thread
        thread.start()

    def finish(self) -> None:
        """Stop the thread, after the command has ended."""
        self._command_has_ended.set()
        if self._thread is not None:
            self._thread.join()
        if not self.has_ended_server:
            self.faults.append("the command ended before all requests were answered")

    def _serve(self, pid: int) -> None:
        """Send the requests, and end the server by SIGINT; this runs in the thread."""
        if not self._await_ready():
            return
        say(f"{self.url} is ready: sending {count(len(self._bodies), 'request')}")
        try:
            self._send_all()
        except (HTTPError, ValueError, LookupError) as error:
            self.faults.append(f"a request has failed: {error}")
        if self._command_has_ended.is_set():  # by itself: there is no server to end
            return
        self.has_ended_server = True
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)

    def _await_ready(self) -> bool:
        """Wait until the server answers; return False if the command ends before that."""
        while not self._command_has_ended.wait(_POLL_SECONDS):
            with suppress(HTTPError):
                reply = self._http.request("GET", f"{self.url}/health", timeout=5.0)
                if reply.status < _FIRST_ERROR:
                    return True
        return False

    def _send_all(self) -> None:
        """Send the requests one after another, for the server's model where none is named.

        Raises:
            HTTPError: The server does not answer.
            ValueError: It does not answer with JSON, when asked for its models.
            LookupError: It has no model.
        """
        models = self._request("GET", "/v1/models")
        model = json.loads(models.data)["data"][0]["id"]
        for body in self._bodies:
            # Each body has one of the keys. The first one counts, as a chat may have others, too.
            path = next(path for key, path in _PATHS.items() if key in body)
            reply = self._request("POST", path, {"model": model, **body})
            if reply.status >= _FIRST_ERROR:
                text = reply.data.decode(errors="replace")
                self.faults.append(f"{path} answered {reply.status}: {text[:200]}")

    def _request(
        self, method: str, path: str, body: Body | None = None
    ) -> urllib3.BaseHTTPResponse:
        """Send one request, and return the server's answer, whatever its status."""
        return self._http.request(
            method,
            f"{self.url}{path}",
            json=body,
            headers=self._headers,
            timeout=_ANSWER_SECONDS,
        )


def _option(argv: Sequence[str], name: str) -> str | None:
    """Return the value of an option of a command line; None if the option is not there.

    If it is there more than once, the last value counts, as for the command itself.
    """
    value = None
    for argument, following in zip(argv, [*argv[1:], None], strict=True):
        if argument == name:
            value = following
        elif argument.startswith(f"{name}="):
            value = argument.partition("=")[2]
    return value

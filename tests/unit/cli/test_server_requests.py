"""Where requests go, and what is read of them; `test_probe.py` sends some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from patchkit.cli.server_requests import ServerRequests, read_requests

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ([], "http://127.0.0.1:8000"),
        (["--port", "81"], "http://127.0.0.1:81"),
        (["--host=10.0.0.1", "--port=82", "--port", "83"], "http://10.0.0.1:83"),
        (["--host", "0.0.0.0"], "http://127.0.0.1:8000"),
        (["--host", "::1"], "http://[::1]:8000"),
        (["--host", "::"], "http://127.0.0.1:8000"),
    ],
)
def test_the_command_line_says_where_the_server_is(words: list[str], url: str) -> None:
    """Options and defaults are vLLM's; the last of several wins."""
    assert ServerRequests(["vllm", "serve", "MODEL", *words], []).url == url


def test_a_number_makes_small_requests() -> None:
    """Each is a completion of a few tokens."""
    first, second = read_requests("2")
    assert first == second
    assert first.keys() == {"prompt", "max_tokens", "temperature"}


def test_a_file_has_a_body_a_line(tmp_path: Path) -> None:
    """Empty lines do not count."""
    file = tmp_path / "bodies"
    file.write_text('{"prompt": "a"}\n\n{"input": "b", "model": "c"}\n')
    assert read_requests(str(file)) == [
        {"prompt": "a"},
        {"input": "b", "model": "c"},
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        ("{", "bodies:1: "),
        ('{"prompt": "a"}\n[]', "bodies:2: found '\\[\\]'"),
        ('{"model": "a"}', "expected an object with one of messages, prompt, input"),
    ],
)
def test_a_line_that_is_no_body_is_refused(
    tmp_path: Path, text: str, fault: str
) -> None:
    """The error names the file and the line."""
    file = tmp_path / "bodies"
    file.write_text(text)
    with pytest.raises(click.UsageError, match=fault):
        read_requests(str(file))

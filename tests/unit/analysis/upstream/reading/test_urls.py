"""URLs without their name and password, also malformed ones."""

from __future__ import annotations

import pytest

from patchkit.analysis.upstream.reading.urls import with_login, without_secrets


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:cret@host:8/simple/?a#b", "https://host:8/simple/?a#b"),
        ("https://cret@host/simple", "https://host/simple"),
        ("//me:cret@host/simple", "//host/simple"),
        ("me:cret@host/simple", "host/simple"),
        ("me:cret@host", "host"),
        ("https:/me:cret@host/simple", "https:/host/simple"),
        ("https://me:cr/et@host/simple", "https://host/simple"),
        ("https://me:cr@et@host/simple", "https://host/simple"),
        ("https://me:cret@host:port/simple", "https://host:port/simple"),
        ("file://me:cret@host/simple", "file://host/simple"),
        ("https://host/@scope/simple", "https://host/@scope/simple"),
        ("/home/me@work/wheels", "/home/me@work/wheels"),
        ("./me@work", "./me@work"),
        ("~/me@work", "~/me@work"),
        ("file:///home/me@work", "file:///home/me@work"),
        ("@host", "@host"),
    ],
)
def test_a_url_is_shown_without_name_and_password(url: str, shown: str) -> None:
    """Also a malformed one, and one without a scheme; paths stay as they are."""
    assert without_secrets(url) == shown


def test_a_login_is_for_its_host_alone() -> None:
    """A URL of the same host gets name and password, one of another host does not."""
    origin = "https://me:cret@host:8/simple"
    assert with_login("https://host:8/file", origin) == "https://me:cret@host:8/file"
    for other in ("https://host/file", "https://other/file"):
        assert with_login(other, origin) == other
    assert with_login("https://host/file", "https://host") == "https://host/file"

"""Settings and URLs as messages show them."""

from __future__ import annotations

import pytest
from support.odd_places import ending_in

from patchkit.analysis.upstream.reading.masking import masked


def test_a_setting_of_several_urls_is_masked() -> None:
    """Each login becomes `…`, and what stands between the URLs stays."""
    text = "https://me:cret@a/simple\n  me:cret@b /c@d"
    assert masked(text) == "https://…@a/simple\n  …@b /c@d"


def test_what_follows_a_malformed_host_is_masked_too() -> None:
    """A token in the path, or behind the `?`, of a URL whose port is no number."""
    shown = masked("https://me:cret@host:bad/t0ken/simple?key=t0ken")
    assert "host" in shown
    assert "cret" not in shown
    assert "t0ken" not in shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ftp://host/t0ken/simple", "ftp://host/…/simple"),
        ("htps://host/t0ken/simple", "htps://host/…/simple"),
        ("http:host/t0ken", "http:host/…"),
        ("http:/host/t0ken", "http:/…"),
        ("s3://me@bucket/t0ken", "s3://…@bucket/…"),
        ("https://host/simple/t0ken/: fault", "https://host/simple/…/: fault"),
        ("file:///home/me/wheels", "file:///home/me/wheels"),
        ("/home/me/wheels", "/home/me/wheels"),
        ("up.mod:f/g", "up.mod:f/g"),
    ],
)
def test_a_path_of_any_scheme_is_masked(url: str, shown: str) -> None:
    """Also where the scheme is misspelled; those of files are shown."""
    assert masked(url) == shown


def test_a_long_setting_takes_no_longer_than_others() -> None:
    """Searches of each word do not begin anew at each letter."""
    with ending_in(20):
        assert masked("a." * 200_000) == "a." * 200_000

"""Tokens of an index's URL, and the marks that stand for them in the cache."""

from __future__ import annotations

import pytest
from support.odd_places import ending_in

from patchkit.analysis.upstream.reading.tokens import (
    has_secrets,
    tokens_of,
    with_tokens,
    without_tokens,
)


def test_a_page_of_many_links_takes_no_longer_than_others() -> None:
    """Queries are searched once; one is found behind many that have no value."""
    with ending_in(20):
        assert not has_secrets(b".gz?" * 100_000)
        assert has_secrets(b".gz?" * 100_000 + b" .whl?key=t0ken")


@pytest.mark.parametrize(
    "url",
    [
        "https://host/api/v4/groups/5/-/packages/pypi/simple/up/",
        "https://host/a/b/simple/a0/",
        "https://host/0/1/2/simple",
        "https://host/simple?1&0=2",
    ],
)
@pytest.mark.parametrize("text", ["525", "a1a", "a0a1b2", "01210", "\x001\x00", "\0"])
def test_tokens_are_put_back_as_they_were(url: str, text: str) -> None:
    """Also where a hash has short ones around the number of another, and in binary content."""
    tokens = tokens_of(url)
    kept = without_tokens(text.encode(), tokens)
    assert with_tokens(kept, tokens) == text.encode()

"""Listings and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.archive import (
    ArchiveMember,
    Lines,
    check_name,
    installed_path,
    to_text,
)

NUMBERS = st.integers(0, 1 << 40)
MEMBERS = st.builds(
    ArchiveMember,
    st.none() | st.tuples(NUMBERS, NUMBERS),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.integers(0, 99),
)
NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(str.strip)


@given(st.dictionaries(NAMES, MEMBERS))
def test_a_listing_is_read_as_it_was_written(listing: dict[str, ArchiveMember]) -> None:
    """Whatever the names that may be in an archive."""
    accepted = {}
    for name, member in listing.items():
        try:
            check_name(name)
        except UpstreamError:
            continue
        accepted[name] = member
    lines = Lines(to_text(accepted))
    assert set(lines) == set(accepted)
    assert lines.known(accepted) == accepted
    assert lines.known(["no such name\t"]) == {}


@pytest.mark.parametrize("name", ["up/a.py", "up/..a/b..py", "up/a b.py", "...", "up/ä.py", "up/"])
def test_ordinary_names_pass(name: str) -> None:
    """Dots are only dangerous alone."""
    check_name(name)


@pytest.mark.parametrize(
    "name", ["/a", "../a", "a/../b", "a/..", "..", "./a", "a\\b", "c:a", "a\x00b", "a\tb", "a\nb"]
)
def test_names_that_lead_out_do_not(name: str) -> None:
    """Nor do those that hold what separates names elsewhere."""
    with pytest.raises(UpstreamError, match="leads out"):
        check_name(name)


def test_where_members_are_installed() -> None:
    """The data directory's libraries are site-packages; its scripts and the records are not."""
    assert installed_path("up/a.py") == "up/a.py"
    assert installed_path("up-1.data/purelib/up/a.py") == "up/a.py"
    assert installed_path("up-1.data/scripts/a.py") is None
    assert installed_path("up-1.dist-info/a.py") is None

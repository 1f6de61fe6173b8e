"""Listings and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.archive import (
    ArchiveMember,
    check_name,
    lines_of,
    member_of,
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
    lines = lines_of(to_text(accepted))
    assert {name: member_of(line) for name, line in lines.items()} == accepted


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

"""How pages write ages."""

from __future__ import annotations

import pytest

from patchkit.cli.report.words import age


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3.0, "0 s ago"),
        (25.4, "25 s ago"),
        (119.0, "119 s ago"),
        (120.0, "2 min ago"),
        (7199.0, "120 min ago"),
        (7200.0, "2 h ago"),
        (90_000.0, "25 h ago"),
        (259_200.0, "3 days ago"),
    ],
)
def test_an_age_is_in_the_largest_unit_that_fits_twice(
    seconds: float, text: str
) -> None:
    """An age is a whole number of the largest unit of which it has at least two."""
    assert age(seconds) == text

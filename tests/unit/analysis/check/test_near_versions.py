from __future__ import annotations

import pytest

from patchkit.analysis.check.near_versions import version_meant

VERSIONS = ["0.4.0", "0.9.0", *(f"0.{minor}.0" for minor in range(20, 34))]


@pytest.mark.parametrize(
    ("version", "meant"),
    [
        ("0.330.0", "0.33.0"),
        ("0.3.0", "0.33.0"),
        ("0.32.00", "0.32.0"),
        ("0.52.0", "0.25.0"),
        ("0.34.0", ""),  # the next release: as like 0.33.0 as 0.4.0
        ("0.99.0", ""),  # 0.9.0 is too old
        ("1.33.1", ""),  # two parts differ
        ("0.22.00", ""),  # there are ten newer ones
    ],
)
def test_a_version_is_asked_for_where_one_digit_slipped(
    version: str, meant: str
) -> None:
    """Only a slip in one part, and only of one of the newest versions, is worth a question."""
    expected = ""
    if meant:
        expected = f"; did you mean {meant}?"
    assert version_meant(version, VERSIONS) == expected

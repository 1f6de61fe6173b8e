"""Why releases cannot be read, in a line for each cause."""

from __future__ import annotations

from patchkit.analysis.check.findings import unreadable_causes
from patchkit.errors import UpstreamError


def faults(*names: str, cause: str = "no such file") -> dict[str, UpstreamError]:
    return {name: UpstreamError(cause) for name in names}


def test_the_cause_of_one_release_stands_alone() -> None:
    """It names the release itself."""
    assert list(unreadable_causes(faults("up==1"))) == ["no such file"]


def test_a_cause_of_several_releases_names_them() -> None:
    """Releases of one cause share a line."""
    assert list(unreadable_causes(faults("up==1", "up==2"))) == [
        "up==1, up==2: no such file"
    ]


def test_of_many_releases_the_first_are_named() -> None:
    """The others are counted, none is lost."""
    names = [f"up=={number}" for number in range(20)]
    (line,) = unreadable_causes(faults(*names))
    listed, _, more = line.removesuffix(": no such file").partition(" and ")
    assert listed.split(", ") == names[: len(listed.split(", "))]
    assert more == f"{20 - len(listed.split(', '))} more"


def test_each_cause_has_a_line() -> None:
    """Two causes are not mixed."""
    both = faults("up==1") | faults("up==2", cause="no network")
    assert list(unreadable_causes(both)) == ["no such file", "no network"]

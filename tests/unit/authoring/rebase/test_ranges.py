"""The releases of a row that is carried."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.authoring.rebase.ranges import carried_requirements
from patchkit.core.versions.requirements import satisfies


def carried(requires: list[str], packages: list[str], **flags: bool) -> list[str]:
    """Carry requirements to the release 2.0."""
    options = {"is_new": False, "is_over": False, **flags}
    return carried_requirements(requires, packages, "2.0", **options)


RELEASES = ["0.9", "1.0", "1.1", "1.1.1", "1.2", "1.9", "2.0", "2.0.1", "2.1", "3.0"]


@pytest.mark.parametrize(
    ("text", "widened", "new", "retired"),
    [
        # As it is; carried; carried without the releases before; retired.
        ("up>=1,<2", "up>=1,<2.1", "up>=2.0,<2.1", "up>=1,<2"),
        ("up>=1", "up>=1", "up>=2.0", "up>=1,<2.0"),
        ("up", "up", "up>=2.0", "up<2.0"),
        ("up>=1,<3", "up>=1,<3", "up>=2.0,<3", "up>=1,<2.0"),
        (
            "up>1,!=1.1,<=1.2",
            "up>1,!=1.1,<2.1",
            "up>=2.0,!=1.1,<2.1",
            "up>1,!=1.1,<=1.2",
        ),
        ("up==1.1", "up>=1.1,<=2.0", "up==2.0", "up==1.1"),
        ("up===1.1", "up>=1.1,<=2.0", "up==2.0", "up===1.1"),
        ("up==1.*", "up>=1,<=2.0", "up==2.0", "up==1.*"),
        ("up==2.*", "up==2.*", "up>=2.0,==2.*", "up>=2,<2.0"),
        ("up~=1.1", "up>=1.1,<2.1", "up>=2.0,<2.1", "up~=1.1"),
        ("up~=2.0", "up~=2.0", "up>=2.0,~=2.0", "up>=2.0,<2.0"),
        (
            "up<2 ; python_version<'4'",
            'up<2.1; python_version < "4"',
            'up>=2.0,<2.1; python_version < "4"',
            "up<2 ; python_version<'4'",
        ),
        ("Up_Per>=1,<2",) * 4,
    ],
)
def test_each_form_of_requirement(
    text: str, widened: str, new: str, retired: str
) -> None:
    """A clause that need not change stays as it is written, and no bound below is lost."""
    assert carried([text], ["up"]) == [widened]
    assert carried([text], ["up"], is_new=True) == [new]
    assert carried([text], ["up"], is_over=True) == [retired]


def test_a_distribution_is_known_however_its_name_is_written() -> None:
    """Its upper bound is raised; requirements on other distributions stay as they are."""
    requires = ["UP_Cpu<2", "up>=1", "other<2"]
    assert carried(requires, ["up-cpu", "up"]) == ["UP_Cpu<2.1", "up>=1", "other<2"]


def test_a_bound_at_a_pre_release_counts_as_the_release() -> None:
    """2.0 lies not below 2.0rc1, so that `<2.0rc1` is widened, and is at least 2.0rc1."""
    assert carried(["up<2.0rc1"], ["up"]) == ["up<2.1"]
    assert carried(["up>=2.0rc1"], ["up"]) == ["up>=2.0rc1"]


CLAUSES = st.builds(
    lambda operator, version: f"{operator}{version}",
    st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "~="]),
    st.sampled_from([release for release in RELEASES if release != "2.0"]),
) | st.sampled_from(["==1.*", "==1.1.*", "!=1.*"])


def allowed(specifier: str) -> set[str]:
    """The releases that a specifier allows."""
    return {release for release in RELEASES if satisfies(release, specifier)}


@given(st.lists(CLAUSES, max_size=3))
def test_carrying_keeps_the_older_releases(clauses: list[str]) -> None:
    """A widened requirement keeps them and gets none below; a new one has none, a retired one only
    those that it had.
    """
    specifier = ",".join(clauses)
    before = allowed(specifier)
    older = RELEASES[: RELEASES.index("2.0")]

    (text,) = carried([f"up{specifier}"], ["up"])
    widened = allowed(text.removeprefix("up"))
    assert before.intersection(older) <= widened
    if before:
        assert all(release >= min(before) for release in widened - before)

    (text,) = carried([f"up{specifier}"], ["up"], is_new=True)
    assert allowed(text.removeprefix("up")).isdisjoint(older)

    (text,) = carried([f"up{specifier}"], ["up"], is_over=True)
    retired = allowed(text.removeprefix("up"))
    assert "2.0" not in retired
    if "2.0" in before:
        assert retired == before.intersection(older)

from __future__ import annotations

from typing import TYPE_CHECKING

from support.packages import row

from analysis.check.released import broken, checked, only_finding, subject
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.trails import Trails
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.packages import World

    from patchkit.analysis.check.releases import CheckedRelease

F = "def f(alpha, beta):\n    return sorted(alpha + one for one in beta if one.is_ready(alpha))\n"
CLASS = f"class Scheduler:\n    def schedule(self): ...\n\n{F}"
PLACE = Target("up.mod", "f")


def followed(
    subjects: Sequence[CheckedRelease],
    *ways: int,
    target: Target = PLACE,
    by_name: bool = False,
) -> list[str | None]:
    """Where a target is said to be in each release: '' for gone, None where nothing is said."""
    learn_all(subjects, lambda _: [target])
    trails = Trails(subjects, [target], ways, by_name=by_name)
    trails.follow()
    moves = [trails.move_of(target, release) for release in subjects]
    return [None if move is None else str(move.place or "") for move in moves]


def test_follows_one_move_after_another() -> None:
    """Where the new place of a target is gone too, the search goes on from there."""
    releases = [
        subject("1", mod=F),
        subject("2", a=F),
        subject("3", a=F),
        subject("4", b=F),
    ]
    assert followed(releases, 1) == [None, "up.a:f", "up.a:f", "up.b:f"]


def test_beyond_a_release_without_it_nothing_is_searched() -> None:
    """A target that is gone in a release is not looked for in the next."""
    releases = [subject("1", mod=F), subject("2"), subject("3", a=F)]
    assert followed(releases, 1) == [None, "", ""]


def test_goes_the_ways_that_are_asked_for() -> None:
    """Back to earlier releases only where that is asked; what one way finds, the other keeps."""
    releases = [
        subject("1", a=F),
        subject("2", mod=F),
        subject("3"),
        subject("4", mod=F),
    ]
    assert followed(releases, 1) == [None, None, "", None]
    assert followed(releases, 1, -1) == ["up.a:f", None, "", None]


def test_what_one_way_found_first_stays() -> None:
    """Two functions look like what is gone: like that of the release before, or of that after."""
    other = "def f(gamma):\n    while gamma.is_open:\n        gamma = gamma.follow(gamma.way)\n"
    releases = [
        subject("1", mod=F),
        subject("2", a=F, b=other),
        subject("3", mod=other),
    ]
    assert followed(releases, 1, -1) == [None, "up.a:f", None]
    assert followed(releases, -1) == [None, "up.b:f", None]


def test_a_target_that_comes_back_is_followed_again() -> None:
    """A release that has the target at its own place again is not asked; a later move is found."""
    releases = [
        subject("1", mod=F),
        subject("2", a=F),
        subject("3", mod=F),
        subject("4", b=F),
    ]
    assert followed(releases, 1, -1) == [None, "up.a:f", None, "up.b:f"]


def test_what_no_release_has_is_looked_for_by_name_where_that_is_asked() -> None:
    """A target that no release has is found by its name, back as far as that place holds."""
    releases = [subject("1"), subject("2", a__mod=F), subject("3", a__mod=F)]
    assert followed(releases, 1) == [None, None, None]
    assert followed(releases, 1, by_name=True) == [None, "up.a.mod:f", "up.a.mod:f"]


def test_a_name_that_the_newest_lacks_is_found_in_those_before() -> None:
    """A further release does not take away the hint that the others have without it."""
    releases = [
        subject("1"),
        subject("2", a__mod=F),
        subject("3", a__mod=F),
        subject("4"),
    ]
    assert followed(releases, 1, by_name=True) == [None, "up.a.mod:f", "up.a.mod:f", ""]


def test_nothing_is_searched_beyond_a_release_that_cannot_be_read() -> None:
    """A release that cannot be read neither has nor lacks a target: the search ends there."""
    releases = [subject("1", mod=F), broken("2"), subject("3", a=F)]
    assert followed(releases, 1) == [None, None, None]


def test_a_target_that_appears_later_names_its_first_release(world: World) -> None:
    """If a range begins too early, the finding names the release in which the target appears."""
    world.pack(
        row("p", "patch_a", "AfterImport('up.mod', call='w')"), patch_a="def w(): ..."
    )
    finding = only_finding(checked([subject("1.0"), subject("2.0", mod="")]), "PK101")
    assert finding.release == "up 1.0"
    assert finding.message.endswith("; it first appears in up 2.0")


def test_a_slip_in_the_name_of_a_module_is_no_move(world: World) -> None:
    """No release has the module, and one whose name is nearly the same has the target."""
    body = "def w(wrapped, instance, args, kwargs): ..."
    world.pack(
        row("p", "patch_a", "Wrap('up.schedular:Scheduler.schedule', by='w')"),
        patch_a=body,
    )
    near, far = subject("1", scheduler=CLASS), subject("1", far=CLASS)
    near.is_local = far.is_local = True  # so that all its files are searched
    slip = only_finding(checked([near]), "PK101")
    assert "by name only" in slip.message
    assert slip.fix.startswith(
        "did you mean up.scheduler:Scheduler.schedule? Otherwise, narrow"
    )
    elsewhere = only_finding(checked([far]), "PK101")
    assert "by name only" in elsewhere.message
    assert elsewhere.fix.startswith("narrow the row's range")
    releases = [subject("1", schedular=CLASS), subject("2", scheduler=CLASS)]
    moved = only_finding(checked(releases), "PK101")
    assert "moved with up.schedular:Scheduler to up.scheduler" in moved.message
    assert moved.fix.startswith("narrow the row's range")

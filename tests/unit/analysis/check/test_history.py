from __future__ import annotations

from analysis.check.released import broken, subject
from patchkit.analysis.check.history import histories
from patchkit.core.rows.target import Target

F = "def f(alpha, beta):\n    return [alpha + one for one in beta]\n"
F2 = "def f(alpha, beta):\n    return [alpha - one for one in beta]\n"
PLACE = Target("up.mod", "f")


def test_the_story_of_a_target() -> None:
    """Absent, elsewhere, here, changed, gone: before and after it was here it is followed."""
    releases = [
        subject("0.1"),
        subject("0.2", early=F),
        subject("0.3", mod=F),
        subject("0.4", mod=F.replace("alpha + one", "(alpha  +  one)")),
        subject("0.5", mod=F2),
        broken("0.6"),
        subject("0.7", mod="", late=F2),
        subject("0.8"),
    ]
    steps = histories([PLACE], releases)[PLACE]
    assert [one.state for one in steps] == [
        *("absent", "absent", "present", "present", "present"),
        *("unreadable", "absent", "absent"),
    ]
    moved = {one.release: str(one.moved_to) for one in steps if one.moved_to}
    assert moved == {"0.2": "up.early:f", "0.7": "up.late:f"}
    assert [one.release for one in steps if one.changed] == ["0.5"]
    assert steps[2].fingerprint == steps[3].fingerprint != steps[4].fingerprint
    assert "cut off" in steps[5].reason


def test_what_cannot_be_told_is_said() -> None:
    """Undecidable is neither present nor absent, and has its reason."""
    (step,) = histories([PLACE], [subject("1.0", mod="globals().update(x())")])[PLACE]
    assert step.state == "undecidable"
    assert "globals" in step.reason

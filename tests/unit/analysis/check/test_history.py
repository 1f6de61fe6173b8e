from __future__ import annotations

from analysis.check.released import broken, subject
from patchkit.analysis.check.history import histories
from patchkit.core.rows.target import Target

F = "def f(alpha, beta):\n    return [alpha + one for one in beta]\n"
F2 = "def f(alpha, beta):\n    return [alpha - one for one in beta]\n"
PLACE = Target("up.mod", "f")


def test_a_history_has_a_step_for_each_release() -> None:
    """Each step has the state of the target, whether it changed, and where it was or went."""
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
    assert [step.state for step in steps] == [
        *("absent", "absent", "present", "present", "present"),
        *("unreadable", "absent", "absent"),
    ]
    moved = {step.release: str(step.moved_to) for step in steps if step.moved_to}
    assert moved == {"0.2": "up.early:f", "0.7": "up.late:f"}
    assert [step.release for step in steps if step.changed] == ["0.5"]
    assert steps[2].fingerprint == steps[3].fingerprint != steps[4].fingerprint
    assert "cut off" in steps[5].reason


def test_an_undecidable_target_has_a_reason() -> None:
    """A target that cannot be decided is neither present nor absent; its step says why."""
    (step,) = histories([PLACE], [subject("1.0", mod="globals().update(x())")])[PLACE]
    assert step.state == "undecidable"
    assert "globals" in step.reason

"""Why a lane is red, and what is noticed of a result that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lanes
import pytest
import verdicts
from support.lane_shop import shop, world

from patchkit.registry import read_pack

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]

ABSENT = "this vLLM has no executor {} for Ray"


def plan(release: str) -> lanes.Plan:
    """A lane of one release that runs the engine."""
    return lanes.Plan(
        release, {"vllm": release, "ray": "2.60.0"}, "3.11", "unit", "engine"
    )


def result(**not_run: str) -> dict[str, Any]:
    """A result whose checks all passed, but those that are named with why they were not run."""
    reasons = {name.replace("_", "-"): reason for name, reason in not_run.items()}
    rows = [
        {
            "check": check,
            "result": "not run" if check in reasons else "passed",
            "detail": reasons.get(check),
        }
        for check in lanes.CHECKS["engine"]
    ]
    return {"results": rows}


@pytest.mark.parametrize(
    ("release", "check", "reason", "is_red"),
    [
        ("0.19.1", "ray_v2", ABSENT.format("V2"), False),
        ("0.20.0", "ray_v2", ABSENT.format("V2"), True),
        ("0.19.1", "ray_v2", "needs two devices, found 1", True),
        ("0.19.1", "ray_v1", ABSENT.format("V1"), True),
        ("0.32.0", "ray_v1", ABSENT.format("V1"), True),
        ("0.33.0", "ray_v1", ABSENT.format("V1"), False),
        ("0.33.0", "ray_v1", ABSENT.format("V2"), True),
        ("0.33.0", "engine", ABSENT.format("V1"), True),
    ],
)
def test_only_an_executor_that_a_release_never_had_may_be_left_out(
    release: str, check: str, reason: str, is_red: bool
) -> None:
    """Whatever else was not run makes the lane red, also where the other executor passed."""
    assert bool(verdicts.faults(plan(release), result(**{check: reason}))) == is_red


def test_a_lane_that_failed_is_missing() -> None:
    """So is one without a result, but not one that cannot run."""
    plans = [plan("1"), plan("2"), plan("3"), lanes.Plan("4", {}, reason="no build")]
    results = {"1": result(), "2": result(engine="no model")}
    assert verdicts.missing(plans, results) == {"2", "3"}
    assert verdicts.green(plans, results) == {"1"}


def test_a_change_of_a_sealed_result_is_noticed() -> None:
    """The seal fits whatever the order of the fields, but no other or further value."""
    sealed = verdicts.sealed({"a": 1, "results": []})
    assert not verdicts.is_edited(dict(reversed(sealed.items())))
    assert verdicts.is_edited({**sealed, "a": 2})
    assert verdicts.is_edited({**sealed, "b": 1})
    assert not verdicts.is_edited({"a": 1}), "it has no seal"


def test_a_stale_lane_is_named(shop: World) -> None:
    """The reason says what has changed since the lane was run."""
    rows = read_pack("pack")
    lane = plan("0.32.0")
    results = {"0.32.0": {"digests": lanes.digests(lane, rows)}}
    assert verdicts.stale([lane], results, rows) == {}
    assert verdicts.stale([lane], results, []) == {"0.32.0": "other rows"}

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
    return lanes.Plan(
        release, {"vllm": release, "ray": "2.60.0"}, "3.11", "unit", "engine"
    )


def result(**not_run: str) -> dict[str, Any]:
    """All passed, but what is named with the reason why it was not run."""
    told = {name.replace("_", "-"): reason for name, reason in not_run.items()}
    rows = [
        {
            "check": one,
            "result": "not run" if one in told else "passed",
            "detail": told.get(one),
        }
        for one in lanes.CHECKS["engine"]
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
    """As one without a result is; one that cannot run is not."""
    plans = [plan("1"), plan("2"), plan("3"), lanes.Plan("4", {}, reason="no build")]
    results = {"1": result(), "2": result(engine="no model")}
    assert verdicts.missing(plans, results) == {"2", "3"}
    assert verdicts.green(plans, results) == {"1"}


def test_what_is_changed_in_a_result_is_noticed() -> None:
    """By its seal, in whatever order its fields are."""
    one = verdicts.sealed({"a": 1, "results": []})
    assert not verdicts.is_edited(dict(reversed(one.items())))
    assert verdicts.is_edited({**one, "a": 2})
    assert verdicts.is_edited({**one, "b": 1})
    assert not verdicts.is_edited({"a": 1}), "it has no seal"


def test_a_stale_lane_is_named(shop: World) -> None:
    """With what is other than when it was run."""
    rows = read_pack("pack")
    one = plan("0.32.0")
    results = {"0.32.0": {"digests": lanes.digests(one, rows)}}
    assert verdicts.stale([one], results, rows) == {}
    assert verdicts.stale([one], results, []) == {"0.32.0": "other rows"}

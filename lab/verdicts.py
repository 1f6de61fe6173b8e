"""Why a lane is red, and whether what is kept of it still holds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanes import lane_digest, rows_digest

from patchkit.analysis.check.packages import allows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanes import Plan

    from patchkit.core.rows.declaration import Row

    Result = Mapping[str, Any]
    Results = Mapping[str, Result]

WITHOUT = {"ray-v2": "vllm<0.20", "ray-v1": "vllm>=0.33"}
"""Of vLLM's executors for Ray, the releases that do not have it."""


@dataclass(frozen=True)
class Fault:
    """Why a lane is red."""

    lane: str
    check: str
    words: str

    def __str__(self) -> str:
        return f"{self.lane}: {self.check}: {self.words}"


def faults(plan: Plan, result: Result) -> list[Fault]:
    """List what makes a lane red: a check that failed, or was to run and did not."""
    told = {one["check"]: one for one in result["results"]}
    found = [_fault(plan, one) for one in told.values() if one["result"] == "failed"]
    if any(fault.check not in plan.checks for fault in found):
        return found  # the environment, or what was to run the checks
    for check in plan.checks:
        if check not in told:
            found.append(Fault(plan.name, check, f"no result, with {plan.words}"))
        elif told[check]["result"] == "not run" and not _is_excused(plan, told[check]):
            found.append(_fault(plan, told[check]))
    return found


def _is_excused(plan: Plan, one: Result) -> bool:
    """Whether a check is of an executor that the lane's release is known not to have."""
    without, release = WITHOUT.get(one["check"]), plan.releases.get("vllm")
    if without is None or release is None:
        return False
    reason = f"this vLLM has no executor {one['check'][-2:].upper()} for Ray"
    return allows([without], "vllm", release) and one["detail"] == reason


def _fault(plan: Plan, one: Result) -> Fault:
    return Fault(
        plan.name, one["check"], f"{one['result']} with {plan.words}: {one['detail']}"
    )


def green(plans: Sequence[Plan], results: Results) -> set[str]:
    """Name the lanes that have run and are not red."""
    ran = [plan for plan in plans if plan.name in results]
    return {plan.name for plan in ran if not faults(plan, results[plan.name])}


def missing(plans: Sequence[Plan], results: Results) -> set[str]:
    """Name the lanes that can run and are not green."""
    return {plan.name for plan in plans if not plan.reason} - green(plans, results)


def stale(
    plans: Sequence[Plan], results: Results, rows: Sequence[Row]
) -> dict[str, str]:
    """Name the lanes whose results are for other rows or for another lane, each with the reason."""
    found = {}
    for plan in plans:
        if plan.reason or plan.name not in results:
            continue
        now = {"rows": rows_digest(plan, rows), "lane": lane_digest(plan)}
        then = results[plan.name]["digests"]
        other = [what for what, one in now.items() if one != then[what]]
        if other:
            found[plan.name] = f"other {' and '.join(other)}"
    return found


# -- seals: a result is as its run wrote it --------------------------------------------------------


def sealed(result: Result) -> dict[str, Any]:
    """Return a result with a digest of all else that it says."""
    return {**result, "seal": _seal(result)}


def is_edited(result: Result) -> bool:
    """Whether a result says something else than when it was sealed; one without a seal does not."""
    return "seal" in result and result["seal"] != _seal(result)


def _seal(result: Result) -> str:
    rest = {name: one for name, one in result.items() if name != "seal"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]

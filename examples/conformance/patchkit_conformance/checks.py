"""The checks, in the order in which they run."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit_lab import processes, scenario

from patchkit_conformance import command, release
from patchkit_conformance.results import Failed, NotRun, Passed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from patchkit_conformance.engines import Engines, Run

APPLYING = Path(__file__).with_name("applying.py")
PACKS = ("patchkit.platform", "patchkit.worker")


def check(on: Engines) -> str:
    """Patchkit's rows are listed, and hold against what is installed."""
    env = {**on.machine.settings, **on.machine.armed}
    _, told = command.answer(env, "list")
    listed = [one for one in told["patches"] if one["pack"] in PACKS]
    if not listed:
        raise Failed(f"patchkit list names no row of {' or '.join(PACKS)}")
    _, checked = command.answer(env, "check", "--here")
    version = told["versions"]["vllm"]["version"]
    if f"vllm {version}" not in checked["releases"]:
        found = ", ".join(checked["releases"]) or "none"
        raise Failed(
            f"patchkit check read {found}; expected the installed vllm {version}"
        )
    errors = [one for one in checked["findings"] if one["severity"] == "error"]
    if errors:
        raise Failed(finding(errors[0], len(errors)), json.dumps(errors, indent=1))
    here = [one["name"] for one in listed if one["selected"]]
    if not here:
        raise Failed(f"patchkit selects none of its {len(listed)} rows here")
    return f"{len(listed)} rows, {len(here)} for here: {', '.join(here)}"


def finding(error: Mapping[str, Any], count: int) -> str:
    """The first finding, and how many more there are."""
    more = f" (and {count - 1} more)" if count > 1 else ""
    where = f"{error['patch']}, {error['release']}"
    return f"{error['code']} {where}: {error['message']}{more}"


def apply(on: Engines) -> Passed:
    """Every target of every selected row is imported, applied and undone."""
    env = processes.environment(on.machine.applying)
    log = on.directory / "apply.log"
    argv = [str(on.python), str(APPLYING), *PACKS]
    with command.nowhere() as folder:
        outcome = processes.run(argv, env, 400, log, folder=folder)
    said = outcome.said("applied")
    if said is None:
        raise Failed(
            f"exit code {outcome.status} in the process that applies", outcome.tail()
        )
    return applied(said)


def applied(said: Mapping[str, Any]) -> Passed:
    """What the process that applies has found."""
    if said["wrong"]:
        raise Failed(said["wrong"][0], "\n".join(said["wrong"]))
    if not said["applied"]:
        raise Failed("patchkit selects no row to apply here")
    counts = f"{len(said['applied'])} rows, {said['targets']} targets"
    unseen = (
        f"; not shown here: {', '.join(said['not_shown'])}" if said["not_shown"] else ""
    )
    return Passed(
        f"{counts}: applied, undone, as before{unseen}", tuple(said["applied"])
    )


def engine(on: Engines) -> str:
    """With patchkit, an engine on one device generates the baseline's tokens."""
    return _same_tokens(on, on.single())


def flagship(on: Engines) -> str:
    """Without patchkit, Ray's workers do not know the device; with it they do."""
    if on.machine.kind != "npu":
        raise NotRun(
            f"the failure is that of NPUs; vLLM's platform here is {on.machine.kind}"
        )
    _assert_two_devices(on)
    executor = release.default()
    outcome = on.bare(executor)
    if outcome.status == 0:
        raise NotRun(
            "masked: here vLLM imports the device backend early enough without patchkit"
        )
    error = scenario.error_line(outcome)
    if error is None:
        raise Failed("without patchkit it failed in another way", outcome.tail())
    _same_tokens(on, on.on_ray(executor))
    return f"without patchkit: …{scenario.DEVICE_STRING_ERROR}; with it: the baseline's tokens"


def ray_v1(on: Engines) -> str:
    """Two devices over Ray, by the executor that came before V2."""
    return _ray(on, release.V1)


def ray_v2(on: Engines) -> str:
    """Two devices over Ray, by executor V2."""
    return _ray(on, release.V2)


def _ray(on: Engines, executor: str) -> str:
    _assert_two_devices(on)
    if not release.has(executor):
        raise NotRun(
            f"this vLLM has no executor {executor.removeprefix('ray-').upper()} for Ray"
        )
    run = on.on_ray(executor)
    said = _same_tokens(on, run)
    by_ray = {worker.pid for worker in run.report.workers if worker.ray}
    others = {worker.pid for worker in run.report.workers} - by_ray
    in_driver = others == {run.report.main} and release.has_v0()
    if len(by_ray) + in_driver != 2 or (others and not in_driver):
        raise Failed(
            f"found workers {run.report.workers}, expected two that Ray started"
        )
    modules = {worker.executor for worker in run.report.workers}
    if modules != {executor}:
        raise Failed(f"found workers of {sorted(modules)}, expected {executor}")
    driver = ", rank 0 in the driver (V0)" if in_driver else ""
    return f"{said}; Ray's workers {sorted(by_ray)}{driver}"


def status(on: Engines) -> str:
    """`patchkit status` sees every process of a run, and they agree."""
    run = on.single() if _without_ray(on) else on.on_ray(release.default())
    env = {**on.machine.settings, **on.machine.armed}
    code, said = command.answer(env, "status", str(run.journal))
    roles = {one["pid"]: one["roles"] for one in said["processes"]}
    missing = _missing(run, roles)
    if missing:
        raise Failed(f"patchkit status lacks {missing}", json.dumps(roles, indent=1))
    apart = [role for role, agree in said["agreement"].items() if not agree]
    if code or apart:
        found = "; ".join(one["message"] for one in said["findings"])
        raise Failed(
            f"patchkit status ended with exit code {code}: {found}", json.dumps(said)
        )
    return f"{len(roles)} processes; in agreement: {', '.join(said['agreement'])}"


def _missing(run: Run, roles: Mapping[int, Sequence[str]]) -> str:
    """Which process has not the role it should have; '' where all have."""
    expected = [(run.report.main, "main")]
    expected += [(worker.pid, "worker") for worker in run.report.workers]
    lost = [
        f"pid {pid} as {role}"
        for pid, role in expected
        if role not in roles.get(pid, ())
    ]
    cores = [pid for pid, held in roles.items() if "engine-core" in held]
    if len(cores) != 1:
        lost.append(f"one engine-core (found {cores})")
    return ", ".join(lost)


def outsider(on: Engines) -> str:
    """A pack with one patch a role acts in the processes of that role, and in no other."""
    _assert_two_devices(on)
    run, seen = on.seen(release.default())
    said = _same_tokens(on, run)
    workers = {worker.pid for worker in run.report.workers}
    expected = {"main": {run.report.main}, "worker": workers}
    for role, pids in expected.items():
        if seen.get(role) != pids:
            raise Failed(f"{role}: its patch ran in {seen.get(role)}, expected {pids}")
    cores = seen.get("engine-core", set())
    if len(cores) != 1 or (cores & workers and cores != expected["main"]):
        raise Failed(
            f"engine-core: its patch ran in {cores}, expected one that is no worker"
        )
    return f"{said}; main, engine-core and worker each ran the patch of their role"


CHECKS: Mapping[str, Callable[[Engines], str | Passed]] = {
    "check": check,
    "apply": apply,
    "engine": engine,
    "flagship": flagship,
    "ray-v2": ray_v2,
    "ray-v1": ray_v1,
    "status": status,
    "outsider": outsider,
}


def _same_tokens(on: Engines, run: Run) -> str:
    baseline = on.baseline()
    if run.report.tokens != baseline:
        raise Failed(
            f"found tokens {run.report.tokens}, expected the baseline's {baseline}"
        )
    return f"the baseline's tokens {baseline}, in {run.seconds:.0f} s"


def _assert_two_devices(on: Engines) -> None:
    reason = _without_ray(on)
    if reason:
        raise NotRun(reason)


def _without_ray(on: Engines) -> str:
    """Why nothing can run on two devices over Ray here; '' where it can."""
    if on.machine.kind == "cpu":
        return "vLLM's platform here is cpu, which has no devices for Ray"
    if on.machine.devices < 2:
        return f"needs two devices, found {on.machine.devices}"
    return "" if _has_ray() else f"Ray is not installed in {sys.prefix}"


def _has_ray() -> bool:
    try:
        return bool(metadata.version("ray"))
    except metadata.PackageNotFoundError:
        return False

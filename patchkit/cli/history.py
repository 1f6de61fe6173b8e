"""`patchkit history`: where a target appeared, changed, moved, went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from patchkit.cli.app import say
from patchkit.cli.options import format_option, offline_option
from patchkit.cli.progress import progress
from patchkit.report.as_json import to_json
from patchkit.rows.target import Target

if TYPE_CHECKING:
    from patchkit.check.history import Step

_FINDINGS = 1


@click.command("history")
@click.argument("target")
@click.option("--releases", metavar="SPEC", help="Which releases; all of the package otherwise.")
@offline_option
@format_option
def command(target: str, releases: str | None, offline: bool, form: str) -> int:
    """
    Follow a target through the releases of its package.

    \b
    Examples:
      patchkit history vllm.v1.executor.ray_utils:RayWorkerWrapper
      patchkit history vllm.envs:VLLM_USE_V1 --releases 'vllm>=0.9'
      patchkit history ray.actor:ActorClass._remote --format json
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.check.history import histories, never_there  # noqa: PLC0415 - late: the help needs none
    from patchkit.check.opening import on_index  # noqa: PLC0415
    from patchkit.upstream.reading.releases import Library  # noqa: PLC0415
    from patchkit.versions.requirements import canonical  # noqa: PLC0415

    place = parse_target(target)
    spec = releases or canonical(place.module.partition(".")[0])
    with Library(offline=offline, notice=say) as library, progress("reading releases") as told:
        subjects = on_index(spec, library)
        steps = histories([place], subjects, told)[place]
        unknown = never_there(place, steps, subjects)
    if form == "json":
        click.echo(to_json({"target": str(place), "releases": [_data(step) for step in steps]}))
    else:
        from patchkit.report.history_page import print_history  # noqa: PLC0415 - JSON needs no rich

        print_history(place, steps)
    if unknown:
        say(unknown)
    return _FINDINGS if unknown or any(step.state == "unreadable" for step in steps) else 0


def _data(step: Step) -> dict[str, object]:
    return {
        "release": step.release,
        "state": "absent" if step.state == "undecidable" else step.state,
        "fingerprint": step.fingerprint,
        "changed": step.changed,
        "moved_to": str(step.moved_to) if step.moved_to else None,
        "likeness": step.likeness,
        "undecidable": step.state == "undecidable",
        "readable": step.state != "unreadable",
        "reason": step.reason,
    }


def parse_target(text: str) -> Target:
    """Read a target of the command line."""
    try:
        return Target.parse(text)
    except ValueError as error:
        hint = "expected a target such as vllm.v1.engine.core:EngineCore.step"
        raise click.UsageError(f"found {text!r}, {hint}") from error

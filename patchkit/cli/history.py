"""`patchkit history`: where a target appeared, changed, moved, went."""

from __future__ import annotations

import click

from patchkit.cli.options import format_option, offline_option, parse_target
from patchkit.cli.output import progress, say
from patchkit.report.as_json import history_json
from patchkit.versions.requirements import canonical


@click.command("history")
@click.argument("target")
@click.option("--releases", metavar="SPEC", help="Which releases; all of the package otherwise.")
@offline_option
@format_option
def command(target: str, releases: str | None, offline: bool, form: str) -> int:
    """Follow a target through the releases of its package.

    \b
    Examples:
      patchkit history vllm.v1.executor.ray_utils:RayWorkerWrapper
      patchkit history vllm.envs:VLLM_USE_V1 --releases 'vllm>=0.9'
      patchkit history ray.actor:ActorClass._remote --format json
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.check.comparison import histories, never_there  # noqa: PLC0415 - late: the help needs none
    from patchkit.check.opening import on_index  # noqa: PLC0415
    from patchkit.upstream.reading.releases import Library  # noqa: PLC0415

    place = parse_target(target)
    spec = releases or canonical(place.module.partition(".")[0])
    with Library(offline=offline, notice=say) as library, progress() as told:
        subjects = on_index(spec, library)
        steps = histories([place], subjects, told)[place]
        unknown = never_there(place, steps, subjects)
    if form == "json":
        click.echo(history_json(place, steps))
    else:
        from patchkit.report.releases import print_history  # noqa: PLC0415 - JSON needs no rich

        print_history(place, steps)
    if unknown:
        say(unknown)
    return 1 if unknown or any(step.state == "unreadable" for step in steps) else 0

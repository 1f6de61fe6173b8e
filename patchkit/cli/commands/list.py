"""`patchkit list`: list the patches that apply here, or what keeps each patch."""

from collections.abc import Sequence

import click

from patchkit.cli import options
from patchkit.cli.health import contradictions
from patchkit.cli.output import say
from patchkit.cli.report.as_json import list_json
from patchkit.cli.report.words import count
from patchkit.core.rows.declaration import Role, Row
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.requirements import canonical
from patchkit.registry import is_own_pack
from patchkit.settings import Settings


@click.command("list")
@click.option(
    "--role",
    type=click.Choice([str(role) for role in Role]),
    help="Only the patches of this role.",
)
@click.option(
    "--vllm", metavar="V", help="Use this version of vLLM, as VLLM_VERSION=V does."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also those that do not apply here, and why.",
)
@click.option(
    "--debt", is_flag=True, help="What keeps each patch, and when it may be deleted."
)
@click.option(
    "--releases",
    metavar="SPEC",
    multiple=True,
    help="With --debt: the releases that you support.",
)
@options.offline_option
@options.patches_option
@options.make_format_option(
    "json", "markdown", "badge", help_text="markdown and badge need --debt."
)
def command(
    role: str | None,
    vllm: str | None,
    everything: bool,
    debt: bool,
    releases: tuple[str, ...],
    offline: bool,
    packs: tuple[str, ...],
    form: str,
) -> None:
    """List the patches that apply here, or when each may be deleted.

    \b
    Examples:
      patchkit list
      patchkit list --all --role worker     also those that do not apply, and why
      patchkit list --patches mine.patches  add a pack that is not installed
      patchkit list --debt --releases 'vllm>=0.30' --format markdown
      patchkit list --format json | jq -r '.patches[] | select(.selected) | .name'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if debt:
        _list_debt(packs, releases, form, offline=offline)
        return
    if releases or form in ("markdown", "badge"):
        raise click.UsageError(
            "--releases, Markdown and a badge: expected --debt with them"
        )
    rows, selection = options.rows_and_selection(packs, vllm)
    if vllm is None:  # with --vllm, another version than the installed one is meant
        for warning in contradictions(Settings.read()):
            say(warning)
    versions = {
        name: selection.versions.find(name)
        for name in options.required_distributions(rows)
    }
    are_reasons_shown = everything or form == "json"
    listed = [
        (row, _reason(row, selection, with_hints=are_reasons_shown))
        for row in rows
        if role is None or role in row.roles
    ]
    if form == "json":
        click.echo(list_json(versions, listed))
    else:
        from patchkit.cli.report.rows import print_list  # noqa: PLC0415 - JSON needs no rich

        print_list(versions, listed, everything=everything)
        hidden = [row for row, reason in listed if reason is not None]
        if hidden and not everything:
            say(f"{_described(hidden)} left out: --all says why")


def _described(hidden: Sequence[Row]) -> str:
    """Describe rows that are not listed, for `… left out`: `2 patches, and 5 that come with …,`."""
    own = [row for row in hidden if is_own_pack(row.pack)]
    users_count = len(hidden) - len(own)
    if not own:
        return count(users_count, "patch")
    verb = "comes" if len(own) == 1 else "come"
    if not users_count:
        return f"{count(len(own), 'patch')} that {verb} with patchkit"
    return f"{count(users_count, 'patch')}, and {len(own)} that {verb} with patchkit,"


def _reason(row: Row, selection: Selection, *, with_hints: bool) -> str | None:
    """Return why a row does not apply here; None for a row that applies.

    Args:
        row: The row.
        selection: Says why.
        with_hints: Whether to add which requirements seem to be misspelled.
    """
    reason = options.reason(selection.reason_to_skip, row)
    if reason is None or not with_hints:
        return reason
    from patchkit.analysis.check.requiring import unrequired  # noqa: PLC0415 - late: the help needs none

    for package in unrequired(row):
        if package.slip:
            reason += f"; did you mean {package.package} by {package.slip}?"
    return reason


def _list_debt(
    packs: tuple[str, ...], releases: tuple[str, ...], form: str, *, offline: bool
) -> None:
    """Print why each patch of this project is still needed, by a check against releases.

    Args:
        packs: The packs of the command line.
        releases: The requirements for the supported releases; the default is the project's, or
            else all releases.
        form: The format of the output.
        offline: Whether to read no release that is not in the cache.
    """
    from patchkit.analysis.check.debt import debt_of  # noqa: PLC0415
    from patchkit.analysis.check.packages import released  # noqa: PLC0415 - late: the help needs none
    from patchkit.analysis.collection import no_collection  # noqa: PLC0415
    from patchkit.analysis.upstream.reading.releases import Library  # noqa: PLC0415
    from patchkit.cli import inputs  # noqa: PLC0415
    from patchkit.cli.commands.check import check_patches  # noqa: PLC0415
    from patchkit.cli.report import debt  # noqa: PLC0415

    rows = inputs.own_rows_of(packs, ())
    release_options = options.ReleaseOptions(releases).with_project_default()
    if not release_options.releases:
        # A name without bounds, such as `vllm`, stands for all of its releases.
        release_options = options.ReleaseOptions(tuple(map(canonical, released(rows))))
    with no_collection(), Library(offline=offline, notice=say) as library:
        names = [row.name for row in rows]
        report, _diffs = check_patches(
            names, packs, release_options, lock=None, library=library
        )
    ledger = [debt_of(row, report) for row in rows]
    if form == "table":
        debt.print_debt(ledger)
    else:
        writers = {
            "json": debt.debt_json,
            "markdown": debt.debt_markdown,
            "badge": debt.debt_badge,
        }
        click.echo(writers[form](ledger))

"""`patchkit new`: write a row, a body and a test to start from."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import click

from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.status.probed import ANSWER
from patchkit.analysis.status.runs import newest_holding
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.scaffold.files import Drafts, write
from patchkit.authoring.scaffold.first_change import UpstreamTarget, look_up
from patchkit.authoring.scaffold.plan import (
    PackLocation,
    PatchRequest,
    Plan,
    place_of,
)
from patchkit.authoring.scaffold.plan import plan as make_plan
from patchkit.authoring.scaffold.roles import propose_roles
from patchkit.authoring.scaffold.target_lists import name_for, read_list
from patchkit.cli import inputs, options
from patchkit.cli.module_source import file_of, find_module
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.here import NextStep
from patchkit.cli.report.new_json import new_json, new_list_json
from patchkit.cli.report.rows import print_new, print_steps
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.project import Project
from patchkit.core.rows.target import Target
from patchkit.errors import DeclarationError, shown
from patchkit.registry import packs_for, read_pack, row_of
from patchkit.settings import Settings

_KINDS = (
    "replace",
    "wrap",
    "decorate",
    "edit",
    "add",
    "add-field",
    "provide",
    "before-import",
    "after-import",
)


@click.command("new")
@click.argument("name", required=False)
@click.option(
    "--target",
    "targets",
    metavar="MODULE:NAME",
    multiple=True,
    help="Repeatable: one patch changes them all.",
)
@click.option(
    "--from",
    "listing",
    metavar="FILE",
    help="Instead: targets, one a line, each for a patch; a name may follow.",
)
@click.option(
    "--kind",
    metavar="KIND",
    type=click.Choice(_KINDS),
    help=f"{', '.join(_KINDS)}; default: what fits the target.",
)
@click.option(
    "--pack", metavar="DIR|MODULE", help="Default: pyproject.toml's only pack."
)
@click.option("--body", metavar="NAME", help="Default: patch_<the target's module>.")
@click.option(
    "--tests", metavar="DIR", default="tests", show_default=True, help="For the test."
)
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([str(role) for role in Role]),
    help="Default: those of a folder platform or worker, else of the last probe; repeatable.",
)
@options.release_options
@click.option("--dry-run", is_flag=True, help="Show everything, write nothing.")
@inputs.library_option
@options.patches_option
@options.format_option
def command(
    name: str | None,
    targets: tuple[str, ...],
    listing: str | None,
    kind: str | None,
    pack: str | None,
    body: str | None,
    tests: str,
    roles: tuple[str, ...],
    release_options: options.ReleaseOptions,
    dry_run: bool,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> None:
    """Start a patch: write a row, a body and a test for an upstream target.

    It looks the target up in the releases of pyproject.toml, or else in what is installed;
    --releases, --path, --wheel and --here name others. It imports no upstream package and
    overwrites no file; it writes all files or none. If the row cannot be added to the pack's
    PATCHES, it is printed for you to paste.

    \b
    Examples:
      patchkit new my-patch --pack my_pack --role engine-core \\
          --target vllm.v1.core.sched.scheduler:Scheduler.schedule
      patchkit new my-patch --pack src/my_plugin/platform --kind add-field \\
          --target vllm.config:CacheConfig.my_option
      patchkit new my-patch --target vllm.envs:VLLM_PORT --pack my_pack.worker \\
          --releases 'vllm>=0.30,<0.34' --dry-run
      patchkit new --from targets.txt --pack my_pack --role worker
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    _check_arguments(name, targets, listing, body)
    place_of_pack = _find_pack(pack)
    named_targets = _named_targets(name, targets, listing, packs)
    all_targets = [target for group in named_targets.values() for target in group]
    upstream_targets = _look_up(all_targets, release_options, library)
    drafts = Drafts()
    plans: list[Plan] = []
    for patch_name, group in named_targets.items():
        request = PatchRequest(
            patch_name,
            kind,
            [Role(role) for role in roles],
            body,
            release_options.releases,
        )
        upstream_of_patch = [upstream_targets[target] for target in group]
        plans.append(
            _plan(request, upstream_of_patch, place_of_pack, Path(tests), drafts)
        )
    if not dry_run:
        write(drafts.files)
    _print(plans, form, is_list=bool(listing), written=not dry_run)


def _check_arguments(
    name: str | None, targets: Sequence[str], listing: str | None, body: str | None
) -> None:
    """Check that either a patch and its targets are named, or a file with a list of targets.

    Raises:
        UsageError: Neither is, or both are.
    """
    if listing and (name or targets or body):
        raise click.UsageError(
            "--from: found a name, --target or --body beside it, expected the list alone"
        )
    if not listing and not (name and targets):
        raise click.UsageError(
            "expected a name and --target MODULE:NAME, or --from FILE with a list of targets"
        )


def _named_targets(
    name: str | None,
    targets: Sequence[str],
    listing: str | None,
    packs: tuple[str, ...],
) -> dict[str, list[Target]]:
    """Return the targets of each patch to write, by the name of the patch.

    Args:
        name: The name of the patch; None with a list.
        targets: The targets of that patch.
        listing: The file with a list of targets, each for a patch; None for one patch.
        packs: The packs of the command line, whose patches must have other names.

    Raises:
        UsageError: A patch has that name already, or a target is none.
    """
    pack_by_name = _names_in_use(packs)
    if listing is None:
        _refuse_name_in_use(str(name), pack_by_name)
        parsed = [options.parse_target(text) for text in targets]
        return {str(name): list(dict.fromkeys(parsed))}
    named: dict[str, list[Target]] = {}
    for target, given_name in read_list(Path(listing)):
        patch_name = given_name or name_for(target, [*named, *pack_by_name])
        used_names = {**pack_by_name, **dict.fromkeys(named, listing)}
        _refuse_name_in_use(patch_name, used_names)
        named[patch_name] = [target]
    return named


def _names_in_use(packs: tuple[str, ...]) -> dict[str, str]:
    """Return the pack of each patch that exists, by the name of the patch."""
    names: dict[str, str] = {}
    for pack in packs_for(Settings.read(), packs):
        # The settings may name a pack that this command is about to create.
        with suppress(DeclarationError):
            for row in read_pack(pack):
                names.setdefault(row.name, pack)
    return names


def _refuse_name_in_use(name: str, taken: Mapping[str, str]) -> None:
    """Raise UsageError if a name is taken; `taken` maps names to the pack or list with them."""
    if name in taken:
        raise click.UsageError(
            f"found a patch {name!r} in {taken[name]}, expected a new name"
        )


def _plan(
    request: PatchRequest,
    targets: Sequence[UpstreamTarget],
    place_of_pack: PackLocation,
    tests: Path,
    drafts: Drafts,
) -> Plan:
    """Plan the files of a patch.

    If neither `--role` nor the pack's folder says for which roles it is, the roles are those in
    which the last `patchkit probe` saw the targets run.

    Args:
        request: What the command line asks for.
        targets: The targets, as they were looked up.
        place_of_pack: The pack.
        tests: The folder for the test.
        drafts: The files that are planned for other patches.

    Raises:
        UsageError: Nothing tells which roles the patch is for.
    """
    proposed = propose_roles([upstream.target for upstream in targets], _last_answer())
    try:  # with the roles of `--role`, or else of the pack's folder
        plan = make_plan(request, targets, place_of_pack, tests, drafts)
    except DeclarationError as error:
        if error.field != "roles":
            raise
        # Neither says for which roles the patch is: those of the probe are taken, if there are any.
        if proposed is None:
            raise _role_missing(place_of_pack) from error
        did = "the targets ran there"
        if not proposed.is_called:
            did = "the targets' modules were imported there, and no call was seen,"
        say(f"roles {_named(proposed.roles)}: {did} in {proposed.source}")
        with_roles = request._replace(roles=proposed.roles)
        return make_plan(with_roles, targets, place_of_pack, tests, drafts)
    roles = row_of(place_of_pack.module, plan.patch).roles
    if proposed and proposed.is_called and roles.isdisjoint(proposed.roles):
        found = f"the targets ran as {_named(proposed.roles)} in {proposed.source}"
        say(f"the row is for {_named(roles)}, but {found}")
    return plan


def _named(roles: Collection[Role]) -> str:
    """Return the names of roles, in the order of `Role`."""
    return ", ".join(str(role) for role in Role if role in roles)


def _last_answer() -> Path | None:
    """Return the file with the answer of the user's last `patchkit probe`; None for no run."""
    run = Settings.read().journal or newest_holding(ANSWER)
    if run is None:
        return None
    return Path(run, ANSWER)


def _role_missing(pack: PackLocation) -> click.UsageError:
    """Return the error for a patch of which nothing tells for which roles it is."""
    fault = f"pack {pack.module} is in no folder named 'platform' or 'worker'"
    hint = "'patchkit probe TARGET -- COMMAND' finds out"
    return click.UsageError(
        f"{fault}: expected --role, which processes it is for; {hint}"
    )


def _print(plans: Sequence[Plan], form: str, *, is_list: bool, written: bool) -> None:
    """Print the patches that were written, and then what their author has to do next."""
    steps = list(_next_steps(plans))
    if form == "json" and is_list:
        click.echo(new_list_json(plans, steps, written=written))
    elif form == "json":
        click.echo(new_json(plans[0], steps, written=written))
    else:
        for plan in plans:
            print_new(plan, written=written)
        print_steps(steps)


def _find_pack(pack: str | None) -> PackLocation:
    """Return the pack to write to: that of `--pack`, or else the only one that settings name.

    Args:
        pack: The value of `--pack`.

    Raises:
        UsageError: `--pack` is not given, and the settings name no pack or several.
    """
    if not pack:
        packs = Project.read().packs or Settings.read().packs
        if len(packs) != 1:
            found = ", ".join(packs) or "none"
            raise click.UsageError(
                f"--pack: found {found} in pyproject.toml and PATCHKIT_PATCHES, expected --pack, "
                "the pack that the row goes into"
            )
        pack = packs[0]
    return place_of(pack, Path(), find_file)


def find_file(module: str) -> Path | None:
    """Find the file of a module that can be imported.

    Args:
        module: The dotted name of the module.

    Returns:
        Its file, or None if there is no such module or it has no file.
    """
    file = file_of(find_module(module))
    if not file:
        return None
    return Path(file)


def _look_up(
    targets: Sequence[Target], release_options: options.ReleaseOptions, library: Library
) -> dict[Target, UpstreamTarget]:
    """Look up targets in the releases that the command line names.

    Raises:
        UpstreamError: A release cannot be read.
    """
    packages = list(
        dict.fromkeys(target.module.partition(".")[0] for target in targets)
    )
    with progress_bar() as progress:
        releases = inputs.open_packages(release_options, packages, library)
        # This reads of each release at once what all targets need. The first error ends all.
        for fault in learn_all(releases, lambda _: targets, progress).values():
            raise fault
        return {target: look_up(target, releases) for target in targets}


def _next_steps(plans: Sequence[Plan]) -> Iterator[NextStep]:
    """Yield what the author of the patches has to do next, in order."""
    rows = shown(plans[0].place.file)  # all patches go into one pack
    names = " ".join(plan.patch.name for plan in plans)
    refusals = [plan.refusal for plan in plans if plan.refusal]
    if refusals:
        yield NextStep(f"paste the row into {rows}: {refusals[0]}")
    yield from _steps_to_import_pack(plans[0].place)
    yield NextStep(f"fill in why, upstream and sunset in {rows}")
    for plan in plans:
        changes = plan.patch.changes
        bodies = [change.body_name for change in changes if change.body_field]
        if bodies:
            yield NextStep(f"write {', '.join(bodies)} in {_file(plan, 'body')}")
    kinds = {change.kind for plan in plans for change in plan.patch.changes}
    if "Edit" in kinds:
        yield NextStep(f"choose old and new of the Edit in {rows}")
    if "AddField" in kinds:
        yield NextStep(f"choose type and default of the AddField in {rows}")
    tests = " ".join(_file(plan, "test") for plan in plans)
    yield NextStep(
        "write in the test what the patch is for; it fails until then",
        f"python -m pytest {tests}",
    )
    yield NextStep("check that it holds", f"patchkit check {names}")
    if any(change.is_reviewed for plan in plans for change in plan.patch.changes):
        yield NextStep("record the target as reviewed", f"patchkit lock {names}")


def _file(plan: Plan, what: str) -> str:
    """Return the path of a planned file of a patch, for people.

    Args:
        plan: The plan of the patch.
        what: `body` or `test`.
    """
    (file,) = [file.path for file in plan.files if file.what == what]
    return shown(file)


def _steps_to_import_pack(pack: PackLocation) -> Iterator[NextStep]:
    """Yield what the user has to do so that commands and tests can import a pack, if anything."""
    project = Project.read()
    if pack.module not in (*project.packs, *packs_for(Settings.read())):
        names = ", ".join(f'"{name}"' for name in (*project.packs, pack.module))
        purpose = "let commands and tests find the pack, in pyproject.toml"
        yield NextStep(purpose, f"[tool.patchkit]\npacks = [{names}]")
    root = pack.root.resolve()
    folders = [folder.resolve() for folder in project.folders]
    if root not in folders and find_module(pack.module.partition(".")[0]) is None:
        yield NextStep(f"install the pack, or put {shown(root)} on PYTHONPATH")

"""`patchkit new`: write a row, a body and a test to start from."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.status.journals import newest_run
from patchkit.analysis.status.probed import ANSWER
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.scaffold.first_change import UpstreamTarget, look_up
from patchkit.authoring.scaffold.plan import (
    PackLocation,
    PatchRequest,
    Plan,
    place_of,
    write,
)
from patchkit.authoring.scaffold.plan import plan as make_plan
from patchkit.authoring.scaffold.roles import propose_roles
from patchkit.cli import inputs, options
from patchkit.cli.module_source import file_of, find_module
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.as_json import new_json
from patchkit.cli.report.here import NextStep
from patchkit.cli.report.rows import print_new
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.project import Project
from patchkit.errors import DeclarationError, shown
from patchkit.registry import packs_for, read_pack, row_of
from patchkit.settings import Settings

_KINDS = (
    "replace",
    "wrap",
    "edit",
    "add",
    "add-field",
    "provide",
    "before-import",
    "after-import",
)


@click.command("new")
@click.argument("name")
@click.option(
    "--target",
    "targets",
    metavar="MODULE:NAME",
    multiple=True,
    required=True,
    help="Repeatable.",
)
@click.option(
    "--kind", type=click.Choice(_KINDS), help="Default: what fits the target."
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
@click.option("--releases", metavar="SPEC", multiple=True, help="The row's range.")
@click.option("--path", metavar="DIR", help="Look the target up in a source tree.")
@click.option(
    "--wheel", metavar="FILE", help="Look it up in a wheel, or a source distribution."
)
@click.option("--dry-run", is_flag=True, help="Show everything, write nothing.")
@inputs.library_option
@options.patches_option
@options.format_option
def command(
    name: str,
    targets: tuple[str, ...],
    kind: str | None,
    pack: str | None,
    body: str | None,
    tests: str,
    roles: tuple[str, ...],
    releases: tuple[str, ...],
    path: str | None,
    wheel: str | None,
    dry_run: bool,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> None:
    """Start a patch: write a row, a body and a test for an upstream target.

    It looks the target up in what is installed, or where --releases, --path or --wheel point. It
    imports no upstream package and overwrites no file; it writes all files or none. If the row
    cannot be added to the pack's PATCHES, it is printed for you to paste.

    \b
    Examples:
      patchkit new my-patch --pack my_pack --role engine-core \\
          --target vllm.v1.core.sched.scheduler:Scheduler.schedule
      patchkit new my-patch --pack src/my_plugin/platform --kind add-field \\
          --target vllm.config:CacheConfig.my_option
      patchkit new my-patch --target vllm.envs:VLLM_PORT --pack my_pack.worker \\
          --releases 'vllm>=0.30,<0.34' --dry-run
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    release_options = options.ReleaseOptions(releases, path, wheel)
    request = PatchRequest(name, kind, [Role(role) for role in roles], body, releases)
    release_options.check()
    place_of_pack = _find_pack(pack)
    _refuse_name_in_use(name, packs)
    upstream_targets = _look_up(targets, release_options, library)
    plan = _plan(request, upstream_targets, place_of_pack, Path(tests))
    if not dry_run:
        write(plan.files)
    steps = list(_next_steps(plan))
    if form == "json":
        click.echo(new_json(plan, steps, written=not dry_run))
    else:
        print_new(plan, steps, written=not dry_run)


def _plan(
    request: PatchRequest,
    targets: Sequence[UpstreamTarget],
    place_of_pack: PackLocation,
    tests: Path,
) -> Plan:
    """Plan the files, with proposed roles where neither an option nor the pack's folder has any.

    Raises:
        UsageError: Nothing tells which roles the targets need.
    """
    proposed = propose_roles([upstream.target for upstream in targets], _last_answer())
    try:
        plan = make_plan(request, targets, place_of_pack, tests)
    except DeclarationError as error:
        if error.field != "roles":
            raise
        if proposed is None:
            raise _role_missing(place_of_pack) from error
        say(
            f"roles {_named(proposed.roles)}: the targets ran there in {proposed.source}"
        )
        with_roles = request._replace(roles=proposed.roles)
        return make_plan(with_roles, targets, place_of_pack, tests)
    roles = row_of(place_of_pack.module, plan.patch).roles
    if proposed is not None and roles.isdisjoint(proposed.roles):
        found = f"the targets ran as {_named(proposed.roles)} in {proposed.source}"
        say(f"the row is for {_named(roles)}, but {found}")
    return plan


def _named(roles: Collection[Role]) -> str:
    return ", ".join(str(role) for role in Role if role in roles)


def _last_answer() -> Path | None:
    """Find the answer of the last `patchkit probe` of this user."""
    run = Settings.read().journal or newest_run(ANSWER)
    if run is None:
        return None
    return Path(run, ANSWER)


def _role_missing(pack: PackLocation) -> click.UsageError:
    fault = f"pack {pack.module} is in no folder named 'platform' or 'worker'"
    hint = "'patchkit probe TARGET -- COMMAND' finds out"
    return click.UsageError(
        f"{fault}: expected --role, which processes it is for; {hint}"
    )


def _find_pack(pack: str | None) -> PackLocation:
    """Find the pack that is named, else the only one of the project or of `PATCHKIT_PATCHES`."""
    if not pack:
        packs = Project.read().packs or Settings.read().packs
        if len(packs) != 1:
            number = (
                f"{len(packs)} in pyproject.toml or PATCHKIT_PATCHES"
                if packs
                else "none"
            )
            expected = "expected the pack that the row goes into"
            raise click.UsageError(f"--pack: found {number}, {expected}")
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


def _refuse_name_in_use(name: str, packs: tuple[str, ...]) -> None:
    for pack in packs_for(Settings.read(), packs):
        # A pack that is named first and made next has no rows.
        with suppress(DeclarationError):
            if name in [row.name for row in read_pack(pack)]:
                raise click.UsageError(
                    f"found a patch {name!r} in {pack}, expected a new name"
                )


def _look_up(
    texts: tuple[str, ...], release_options: options.ReleaseOptions, library: Library
) -> list[UpstreamTarget]:
    """Look targets up in releases; UpstreamError if a release cannot be read."""
    targets = list(dict.fromkeys(options.parse_target(text) for text in texts))
    packages = list(
        dict.fromkeys(target.module.partition(".")[0] for target in targets)
    )
    with progress_bar() as progress:
        releases = inputs.open_packages(release_options, packages, library)
        for fault in learn_all(releases, lambda _: targets, progress).values():
            raise fault
        return [look_up(target, releases) for target in targets]


def _next_steps(plan: Plan) -> Iterator[NextStep]:
    """List what the author does next."""
    files = {file.what: shown(file.path) for file in plan.files}
    rows = shown(plan.place.file)
    name = plan.patch.name
    if plan.refusal:
        yield NextStep(f"paste the row into {rows}: {plan.refusal}")
    yield from _steps_to_import_pack(plan.place)
    yield NextStep(f"fill in why, upstream and sunset in {rows}")
    bodies = [change.body_name for change in plan.patch.changes if change.body_field]
    if bodies:
        yield NextStep(f"write {', '.join(bodies)} in {files['body']}")
    kinds = {change.kind for change in plan.patch.changes}
    if "Edit" in kinds:
        yield NextStep(f"choose old and new of the Edit in {rows}")
    if "AddField" in kinds:
        yield NextStep(f"choose type and default of the AddField in {rows}")
    test = f"python -m pytest {files['test']}"
    yield NextStep("write in the test what the patch is for; it fails until then", test)
    yield NextStep("check that it holds", f"patchkit check {name}")
    yield NextStep("record the target as reviewed", f"patchkit lock {name}")


def _steps_to_import_pack(pack: PackLocation) -> Iterator[NextStep]:
    """List what is to be done for commands and tests to find a pack; nothing if they do."""
    project = Project.read()
    if pack.module not in (*project.packs, *packs_for(Settings.read())):
        names = ", ".join(f'"{name}"' for name in (*project.packs, pack.module))
        purpose = "let commands and tests find the pack, in pyproject.toml"
        yield NextStep(purpose, f"[tool.patchkit]\npacks = [{names}]")
    root = pack.root.resolve()
    folders = [folder.resolve() for folder in project.folders]
    if root not in folders and find_module(pack.module.partition(".")[0]) is None:
        yield NextStep(f"install the pack, or put {shown(root)} on PYTHONPATH")

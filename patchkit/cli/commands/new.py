"""`patchkit new`: a row, a body and a test to start from."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.scaffold.first_change import UpstreamTarget, look_up
from patchkit.authoring.scaffold.plan import Place, Plan, Wish, place_of, plan, write
from patchkit.cli import inputs, options
from patchkit.cli.module_source import file_of, find_module
from patchkit.cli.output import progress_bar
from patchkit.cli.report.as_json import new_json
from patchkit.cli.report.here import NextStep
from patchkit.cli.report.rows import print_new
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.project import Project
from patchkit.errors import DeclarationError, shown
from patchkit.registry import packs_for, read_pack
from patchkit.settings import Settings

_KINDS = ("replace", "wrap", "edit", "add", "add-field", "provide", "before-import", "after-import")


@click.command("new")
@click.argument("name")
@click.option(
    "--target", "targets", metavar="MODULE:NAME", multiple=True, required=True, help="Repeatable."
)
@click.option("--kind", type=click.Choice(_KINDS), help="Default: what fits the target.")
@click.option("--pack", metavar="DIR|MODULE", help="Default: pyproject.toml's only pack.")
@click.option("--body", metavar="NAME", help="Default: patch_<the target's module>.")
@click.option("--tests", metavar="DIR", default="tests", show_default=True, help="For the test.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([str(role) for role in Role]),
    help="Default: those of a pack in a folder platform or worker; repeatable.",
)
@click.option("--releases", metavar="SPEC", multiple=True, help="The row's range.")
@click.option("--path", metavar="DIR", help="Look the target up in a source tree.")
@click.option("--wheel", metavar="FILE", help="Look it up in a wheel, or a source distribution.")
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
    wish = Wish(name, kind, [Role(word) for word in roles], body, releases)
    release_options.check()
    place = _place(pack)
    _refuse_taken(name, packs)
    made = _planned(wish, _look_up(targets, release_options, library), place, Path(tests))
    if not dry_run:
        write(made.files)
    _tell(made, form, written=not dry_run)


def _tell(made: Plan, form: str, *, written: bool) -> None:
    steps = list(_next_steps(made))
    if form == "json":
        click.echo(new_json(made, steps, written=written))
    else:
        print_new(made, steps, written=written)


def _planned(wish: Wish, targets: Sequence[UpstreamTarget], place: Place, tests: Path) -> Plan:
    try:
        return plan(wish, targets, place, tests)
    except DeclarationError as error:
        if error.field != "roles":
            raise
        fault = f"pack {place.module} is in no folder named 'platform' or 'worker'"
        raise click.UsageError(f"{fault}: expected --role, which processes it is for") from error


def _place(pack: str | None) -> Place:
    named = [pack] if pack else Project.read().packs or Settings.read().packs
    if len(named) != 1:
        found = f"{len(named)} in pyproject.toml or PATCHKIT_PATCHES" if named else "none"
        raise click.UsageError(f"--pack: found {found}, expected the pack that the row goes into")
    return place_of(named[0], Path(), find_file)


def find_file(module: str) -> Path | None:
    """Find the file of a module that can be imported."""
    file = file_of(find_module(module))
    return Path(file) if file else None


def _refuse_taken(name: str, packs: tuple[str, ...]) -> None:
    for pack in packs_for(Settings.read(), packs):
        with suppress(DeclarationError):  # a pack that is named first and made next has no rows
            if name in [row.name for row in read_pack(pack)]:
                raise click.UsageError(f"found a patch {name!r} in {pack}, expected a new name")


def _look_up(
    words: tuple[str, ...], release_options: options.ReleaseOptions, library: Library
) -> list[UpstreamTarget]:
    targets = list(dict.fromkeys(map(options.parse_target, words)))
    packages = list(dict.fromkeys(target.module.partition(".")[0] for target in targets))
    with progress_bar() as progress:
        subjects = inputs.open_packages(release_options, packages, library)
        for fault in learn_all(subjects, lambda _: targets, progress).values():
            raise fault
        return [look_up(target, subjects) for target in targets]


def _next_steps(plan: Plan) -> Iterator[NextStep]:
    files = {file.what: shown(file.path) for file in plan.files}
    rows, name = shown(plan.place.file), plan.patch.name
    if plan.refusal:
        yield NextStep(f"paste the row into {rows}: {plan.refusal}")
    yield from _to_find_the_pack(plan.place)
    yield NextStep(f"fill in why, upstream and sunset in {rows}")
    if names := [change.body_name for change in plan.patch.changes if change.body_field]:
        yield NextStep(f"write {', '.join(names)} in {files['body']}")
    kinds = {change.kind for change in plan.patch.changes}
    for kind, fields in (("Edit", "old and new"), ("AddField", "type and default")):
        if kind in kinds:
            yield NextStep(f"choose {fields} of the {kind} in {rows}")
    test = f"python -m pytest {files['test']}"
    yield NextStep("write in the test what the patch is for; it fails until then", test)
    yield NextStep("check that it holds", f"patchkit check {name}")
    yield NextStep("record the target as reviewed", f"patchkit lock {name}")


def _to_find_the_pack(place: Place) -> Iterator[NextStep]:
    project, top = Project.read(), place.module.partition(".")[0]
    if place.module not in (*project.packs, *packs_for(Settings.read())):
        packs = ", ".join(f'"{pack}"' for pack in (*project.packs, place.module))
        words = "let commands and tests find the pack, in pyproject.toml"
        yield NextStep(words, f"[tool.patchkit]\npacks = [{packs}]")
    root = place.root.resolve()
    if find_module(top) is None and root not in [folder.resolve() for folder in project.folders]:
        yield NextStep(f"install the pack, or put {shown(root)} on PYTHONPATH")

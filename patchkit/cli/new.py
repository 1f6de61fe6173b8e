"""`patchkit new`: a row, a body and a test to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.app import say
from patchkit.cli.options import format_option, offline_option, patches_option
from patchkit.cli.progress import progress
from patchkit.errors import DeclarationError
from patchkit.rows.declaration import Role
from patchkit.rows.project import Project
from patchkit.settings import Settings

if TYPE_CHECKING:
    from patchkit.cli.look import Wanted
    from patchkit.scaffold.found import Found
    from patchkit.scaffold.place import Place
    from patchkit.scaffold.planning import Plan, Wish
    from patchkit.upstream.reading.releases import Library

_KINDS = ("replace", "wrap", "edit", "add", "add-field", "provide", "before-import", "after-import")


@click.command("new")
@click.argument("name")
@click.option("--target", "targets", multiple=True, required=True, help="Upstream; repeatable.")
@click.option("--kind", type=click.Choice(_KINDS), help="Else what serves each target.")
@click.option("--pack", metavar="DIR|MODULE", help="Else the one of pyproject.toml.")
@click.option("--body", metavar="NAME", help="Of its file; else patch_<the target's module>.")
@click.option("--tests", metavar="DIR", default="tests", show_default=True, help="For its test.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([str(role) for role in Role]),
    help="Else those of the pack's folder, platform or worker; repeatable.",
)
@click.option("--releases", metavar="SPEC", multiple=True, help="Its range, looked up there.")
@click.option("--path", metavar="DIR", help="Look the target up in a source tree.")
@click.option("--wheel", metavar="FILE", help="Look it up in a wheel, or a source distribution.")
@click.option("--no-row", is_flag=True, help="Write the body and the test, and print the row.")
@click.option("--dry-run", is_flag=True, help="Write nothing; show it.")
@offline_option
@patches_option
@format_option
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
    no_row: bool,
    dry_run: bool,
    offline: bool,
    packs: tuple[str, ...],
    form: str,
) -> None:
    """
    Start a patch: a row, a body and a test, from what the target is upstream.

    Upstream packages are not imported, and no file is overwritten. Either all files are written or
    none.

    \b
    Examples:
      patchkit new my-patch --pack my_pack --role engine-core \\
          --target vllm.v1.core.sched.scheduler:Scheduler.schedule
      patchkit new my-patch --pack src/my_plugin/platform --kind add-field \\
          --target vllm.config:CacheConfig.my_option
      patchkit new my-patch --target vllm.envs:VLLM_PORT --pack my_pack.worker \\
          --releases 'vllm>=0.30,<0.34' --dry-run
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.cli.facts.new import new_facts  # noqa: PLC0415 - late: the help needs none of it
    from patchkit.cli.look import Wanted  # noqa: PLC0415
    from patchkit.scaffold.planning import Wish  # noqa: PLC0415
    from patchkit.scaffold.writing import write  # noqa: PLC0415
    from patchkit.upstream.reading.releases import Library  # noqa: PLC0415

    wanted = Wanted(releases, path, wheel)
    wanted.check()
    place = _place(pack)
    _refuse_taken(name, packs)
    wish = Wish(name, kind, [Role(one) for one in roles], body, releases)
    with Library(offline=offline, notice=say) as library:  # a plan reads more of the releases
        founds = _look_up(targets, wanted, library)
        found = _planned(wish, founds, place, Path(tests), no_row=no_row)
        if not dry_run:
            write(found.files)
        data = new_facts(found, founds, Settings.read(), written=not dry_run)
    if form == "json":
        from patchkit.report.as_json import to_json  # noqa: PLC0415 - only one of them is needed

        click.echo(to_json(data))
        return
    from patchkit.report.new_page import print_new  # noqa: PLC0415 - only one of them is needed

    print_new(data)


def _place(pack: str | None) -> Place:
    from patchkit.scaffold.place import place_of  # noqa: PLC0415 - late, as above

    named = [pack] if pack else Project.read().packs or Settings.read().packs
    if len(named) != 1:
        found = f"{len(named)} in pyproject.toml or PATCHKIT_PATCHES" if named else "none"
        raise click.UsageError(f"--pack: found {found}, expected the pack that the row goes into")

    return place_of(named[0], Path(), _file)


def _file(module: str) -> Path | None:
    from patchkit.cli.module_source import file_of, find_module  # noqa: PLC0415 - as above

    file = file_of(find_module(module))
    return Path(file) if file else None


def _refuse_taken(name: str, packs: tuple[str, ...]) -> None:
    from patchkit.check.packs import read_named  # noqa: PLC0415 - late, as above
    from patchkit.rows.packs import packs_for  # noqa: PLC0415

    rows, _ = read_named(filter(_has_rows, packs_for(Settings.read(), packs)))
    if name in rows:
        raise click.UsageError(f"a patch of pack {rows[name].pack} is named {name!r} already")


def _has_rows(pack: str) -> bool:
    """Whether a pack is there and has rows; one that is named first and made next has none."""
    file = _file(pack)
    try:
        return file is not None and b"PATCHES" in file.read_bytes()
    except OSError:
        return True  # of an archive; reading the pack says more


def _look_up(targets: tuple[str, ...], wanted: Wanted, library: Library) -> list[Found]:
    from patchkit.check.subjects import learn_all  # noqa: PLC0415 - late, as above
    from patchkit.cli import look  # noqa: PLC0415
    from patchkit.cli.history import parse_target  # noqa: PLC0415
    from patchkit.scaffold.found import find  # noqa: PLC0415

    places = list(dict.fromkeys(map(parse_target, targets)))
    packages = list(dict.fromkeys(one.module.partition(".")[0] for one in places))
    with progress("reading releases") as told:
        subjects = look.open_packages(wanted, packages, library)
        for fault in learn_all(subjects, lambda _: places, told).values():
            raise fault
        return [find(one, subjects) for one in places]


def _planned(wish: Wish, founds: list[Found], place: Place, tests: Path, *, no_row: bool) -> Plan:
    from patchkit.scaffold.planning import plan  # noqa: PLC0415 - late, as above

    try:
        found = plan(wish, founds, place, tests)
    except DeclarationError as error:
        if error.field != "roles":
            raise
        fault = f"pack {place.module} is in no folder named 'platform' or 'worker'"
        raise click.UsageError(f"{fault}: expected --role, which processes it is for") from error
    if found.refusal and not no_row:
        click.echo(found.row)
        raise click.UsageError(f"{found.refusal}; --no-row writes the rest, and you paste the row")
    return found.without_row() if no_row else found

"""Finds modules of upstream that import by name what rows replace."""

from collections.abc import Iterable, Iterator, Sequence

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.findings import Finding
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.analysis.uses.files import uses_of
from patchkit.analysis.uses.packages import modules_of
from patchkit.analysis.uses.use import Use
from patchkit.core.rows.declaration import Decorate, Replace, SetByCall, Wrap
from patchkit.core.rows.target import Target

_SHOWN = 3
"""How many importers a message names."""
_NO_ACTION = "no action needed, unless you set rebind=False"
_AS_CONSTANT = "Replace it there, too: copies of a constant are not repointed"
"""The fix for a number or a string, which cannot be told from an equal one."""


def of_importers(coverage: Coverage) -> Iterator[Finding]:
    """Find modules of upstream that import by name what rows replace: `from a import f` for `a:f`.

    Such a name holds the original until patchkit repoints it at run time. The finding says where
    that is going to happen. Rows with `rebind=False` do without, and are left out.
    Only releases that are at hand are searched, as every file of the package has to be read.

    Args:
        coverage: the rows, and which releases they are for.

    Yields:
        A finding for each target of a row that is imported so.
    """
    for release in coverage.releases:
        if not release.is_local:
            continue
        replaced = dict.fromkeys(_replaced(coverage, release))
        importers = _importers(release.source, {target for _, target in replaced})
        for patch, target in replaced:
            imports = importers.get(target)
            if imports:
                fix = _NO_ACTION
                if release.facts(target).constant:
                    fix = _AS_CONSTANT
                yield _imported_by(imports, patch, str(target), release.name, fix)


def _replaced(
    coverage: Coverage, release: CheckedRelease
) -> Iterator[tuple[str, Target]]:
    """Yield the names of rows, each with a target that the row replaces and repoints copies of."""
    for row in coverage.rows:
        for change in coverage.due(row, release):
            if (
                isinstance(change, (Replace, Wrap, Decorate, SetByCall))
                and change.rebind
            ):
                yield row.name, change.place


def _imported_by(
    imports: Sequence[Use], patch: str, target: str, release: str, fix: str
) -> Finding:
    """Make the finding of a target that modules import by name; it points to the first import."""
    modules = [module_name(use.path) for use in imports]
    importers = ", ".join(modules[:_SHOWN])
    if len(modules) > _SHOWN:
        importers = f"{len(modules)} modules ({importers}, …)"
    return Finding(
        code=codes.BY_NAME_IMPORTERS,
        message=f"imported by name in {importers}",
        fix=fix,
        patch=patch,
        target=target,
        release=release,
        file=imports[0].path,
        line=imports[0].line,
        details=modules,
    )


def _importers(
    source: ReleaseSource, targets: Iterable[Target]
) -> dict[Target, list[Use]]:
    """Find where modules import targets by name while they are imported themselves.

    Args:
        source: the files of a release.
        targets: the targets. Methods are left out: they are reached through their class.

    Returns:
        The imports of each target that is a module's own name.
    """
    importers: dict[Target, list[Use]] = {
        target: [] for target in targets if target.qualname.isidentifier()
    }
    if not importers:
        return {}
    trees = modules_of(source, {target.qualname for target in importers})
    packages = {target.module.partition(".")[0] for target in importers}
    for use in uses_of(trees, packages):
        is_by_name = use.how == "import" and use.at_import and use.target in importers
        # In `a` itself, `from a import f` makes no copy of `a:f`.
        if is_by_name and use.target.module != module_name(use.path):
            importers[use.target].append(use)
    return importers

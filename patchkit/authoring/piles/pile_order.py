"""Orders the modules of a pile by their imports, and its rows by the order of its changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.uses.packages import modules_of
from patchkit.authoring.piles.hooks import with_plugin_calls
from patchkit.authoring.piles.pile_reader import Dialect, PileReader
from patchkit.core.rows.declaration import Add, Change, Patch, Replace

_FOLDERS_OF_TESTS = frozenset(["benchmarks", "conftest", "examples", "tests"])


def read_pile(
    source: ReleaseSource, only: Sequence[str], dialects: Sequence[Dialect]
) -> list[PileReader]:
    """Read the modules of a pile, in the order in which Python would run them.

    Args:
        source: The files of the package.
        only: The modules and packages to read; empty for all.
        dialects: The readers of statements other than assignments.

    Returns:
        A reader for each module, after the readers of the modules that it imports.
    """
    readers: dict[str, PileReader] = {}
    for module in modules_of(source, [""]):  # "" is in every file: all modules are read
        can_be_imported = module.name.replace(".", "_").isidentifier()
        if can_be_imported and (not only or _is_inside(module.name, only)):
            reader = PileReader(with_plugin_calls(module), dialects)
            reader.read()
            readers[module.name] = reader
    if not only:
        _refuse_placements_of_tests(readers)
    ordered: dict[str, PileReader] = {}
    # Python runs a package before its modules.
    for name in sorted(readers, key=lambda name: (name.count("."), name)):
        _add_after_imports(name, readers, ordered, entered=set())
    return list(ordered.values())


def _refuse_placements_of_tests(readers: Mapping[str, PileReader]) -> None:
    """Let no row be made of what tests and benchmarks set: nobody imports these in an engine.

    A placement with a `reason` is listed with that, and gets no row.

    Args:
        readers: The readers of all modules, by name.
    """
    for name, reader in readers.items():
        if not is_of_test(name):
            continue
        for placement in reader.placements:
            placement.reason = f"it is in a test or the like; --only {name} adopts it"


def is_of_test(module: str) -> bool:
    """Return whether a module is a test, a benchmark or an example, which nobody imports.

    Args:
        module: Its dotted name.
    """
    parts = module.split(".")
    return not _FOLDERS_OF_TESTS.isdisjoint(parts) or parts[-1].startswith("test_")


def _is_inside(module: str, packages: Iterable[str]) -> bool:
    """Return whether a module is one of some modules and packages, or inside of one."""
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _add_after_imports(
    name: str,
    readers: Mapping[str, PileReader],
    ordered: dict[str, PileReader],
    entered: set[str],
) -> None:
    """Append the reader of a module to the ordered ones, after the readers of what it imports.

    It calls itself for each import of the module.

    Args:
        name: The name of the module; one that is not in the pile is skipped.
        readers: All readers, by module.
        ordered: The readers in order so far; is extended.
        entered: The modules whose imports are being followed, which may import each other.
    """
    if name not in readers:
        return
    if name in ordered or name in entered:
        return
    entered.add(name)
    for pile_import in readers[name].imports:
        _add_after_imports(pile_import.module, readers, ordered, entered)
    ordered[name] = readers[name]


def chained(patches: Iterable[Patch]) -> Iterator[Patch]:
    """Yield rows with `after` set so that rows for the same target apply in the pile's order.

    What an earlier row adds is replaced, and not added once more.

    Args:
        patches: The rows, in the order in which the pile makes their changes.
    """
    last_by_target: dict[str, str] = {}
    # By target, the row that adds it whenever it is applied.
    added_by: dict[str, Patch] = {}
    for original in patches:
        patch = _with_replaced(original, added_by)
        targets = {str(change.place) for change in patch.parts}
        predecessors = {
            last_by_target[target] for target in targets if target in last_by_target
        }
        last_by_target.update(dict.fromkeys(targets, patch.name))
        yield patch.__replace__(after=tuple(sorted(predecessors)))


def _with_replaced(patch: Patch, added_by: dict[str, Patch]) -> Patch:
    """Return a row that replaces what earlier rows have added.

    Args:
        patch: The row.
        added_by: By target, the row that adds it whenever that is applied; is extended.
    """
    changes = list[Change]()
    added = list[str]()
    for change in patch.changes:
        if not isinstance(change, Add):
            changes.append(change)
            continue
        earlier = added_by.get(change.target)
        if earlier is not None and _is_applied_with(earlier, patch):
            changes.append(_replacing(change))
            continue
        changes.append(change)
        if not (change.requires or change.when or patch.when):
            added.append(change.target)
    for target in added:
        added_by.setdefault(target, patch)
    return patch.__replace__(changes=tuple(changes))


def _is_applied_with(earlier: Patch, patch: Patch) -> bool:
    """Whether an earlier row is applied wherever a row is."""
    is_as_wide = earlier.required and earlier.requires == patch.requires
    return is_as_wide and earlier.roles == patch.roles


def _replacing(change: Add) -> Replace:
    """Return the change that puts the value of an Add in the place of what is there."""
    return Replace(
        change.target,
        by=change.by,
        when=change.when,
        requires=change.requires,
        rebind=change.rebind,
        unrelated=True,
    )

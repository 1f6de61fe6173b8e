"""Observes a pile in a child process, and has rows made of what it changes and no row does.

A pile is a package that patches upstream.
"""

import ast
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.piles.hooks import is_in_registry
from patchkit.authoring.piles.observed import ChildProcess, importable, observe
from patchkit.authoring.piles.observed_rows import ObservedRows
from patchkit.authoring.piles.pile_imports import root_modules
from patchkit.authoring.piles.pile_order import is_of_test
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.source.calls_at_import import acts_at_import

_MOST_APART = 40
"""How many modules of a pile are told apart, as upstream is compared twice for each."""


@dataclass(frozen=True)
class ObservationOptions:
    """What is observed of a pile, and where.

    Args:
        package: The package that the pile patches.
        stubs: Modules to replace by an empty stand-in where they cannot be imported.
        calls: The functions of the pile to call, as `module:name`, each with who calls it: an
            entry-point group, or `--call`.
        python: The Python of the environment that the child runs in.
    """

    package: str
    stubs: Sequence[str] = ()
    calls: Sequence[tuple[str, str]] = ()
    python: str = sys.executable


def observe_pile(pile: PileRows, location: str, options: ObservationOptions) -> str:
    """Import the pile in a child process, and make rows of what it changes there and no row does.

    Args:
        pile: The rows of the pile; gets more.
        location: The folder or the wheel of the pile, or the name of its package.
        options: What is observed.

    Returns:
        Why nothing was observed; '' if it was.

    Raises:
        ScaffoldError: The pile cannot be imported from there, or the child failed.
    """
    own_packages = {reader.module.name.partition(".")[0] for reader in pile.readers}
    target_modules: set[str] = set()
    for patch in pile.patches:
        target_modules.update(change.place.module for change in patch.changes)
    # The packages that are compared before and after: those of targets, and the one to patch.
    packages = {name.partition(".")[0] for name in target_modules}
    packages = packages.union([options.package]) - own_packages
    upstream_modules = [
        name for name in target_modules if name.partition(".")[0] in packages
    ]
    acting = _acting_modules(pile, packages)
    apart = _acting_modules(pile, packages | own_packages)
    calls = [call for call, _ in options.calls]
    roots = _modules_to_import(pile, acting, calls)
    with importable(location) as path:
        observation = observe(
            modules=roots,
            imported_first=[
                options.package,
                *sorted(packages.union(upstream_modules)),
            ],
            stubs=options.stubs,
            packages=packages,
            child=ChildProcess(path, options.python),
            perhaps=_imported_names(pile, packages),
            calls=calls,
            pile=own_packages,
            apart=_fewest(apart, acting),
        )
    fault = observation.faults.get(options.package)
    if fault:
        return f"{options.package} cannot be imported here ({fault}): the pile was read alone"
    # What a hook changes is seen only once the registry applies it: its own tables say nothing new.
    observation.changes = [
        change for change in observation.changes if not is_in_registry(change.target)
    ]
    observation.compare(pile.patches)
    pile.observed = observation
    ObservedRows(pile, observation, dict(options.calls)).add()
    return ""


def _fewest(*choices: Collection[str]) -> Collection[str]:
    """Return the first choice of modules that are few enough to be told apart; none if none is."""
    for modules in choices:
        if len(modules) <= _MOST_APART:
            return modules
    return ()


def _modules_to_import(
    pile: PileRows, acting: set[str], calls: Sequence[str]
) -> list[str]:
    """Return the modules to import so that the pile does all that it does at import.

    Args:
        pile: The rows of the pile.
        acting: The modules that may change something at import.
        calls: The functions of the pile that are called, as `module:name`. Then their modules are
            imported, and what these import, in place of all that act. That is before any call, so
            that what the import changes is not taken for what the call does.
    """
    patching = set(pile.codes)
    if not patching:
        # Without any row, the modules are of interest that set something as no row can.
        patching = {reader.module.name for reader in pile.readers if reader.placements}
    if not calls:
        patching |= acting
    called = [call.partition(":")[0] for call in calls]
    roots = list(dict.fromkeys([*called, *root_modules(pile.readers, patching)]))
    if pile.base and not roots:
        return [pile.base]
    return roots


def _acting_modules(pile: PileRows, packages: set[str]) -> set[str]:
    """Return the modules of a pile that may change something of packages at import.

    Args:
        pile: The rows of the pile.
        packages: The top-level packages that may be changed; with those of the pile, also by
            functions of its other modules.
    """
    acting = set[str]()
    for reader in pile.readers:
        name = reader.module.name
        is_program = name.rpartition(".")[2] == "__main__"
        if is_program or is_of_test(name):
            continue
        tops = {pile_import.module.partition(".")[0] for pile_import in reader.imports}
        if packages.isdisjoint(tops):
            continue
        sets_at_import = any(not placement.function for placement in reader.placements)
        if sets_at_import or acts_at_import(reader.module.tree):
            acting.add(name)
    return acting


def _imported_names(pile: PileRows, packages: set[str]) -> set[str]:
    """Return what the pile imports of packages: modules, and names in them."""
    names: set[str] = set()
    for reader in pile.readers:
        for node in ast.walk(reader.module.tree):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            for _name, _stands_for, target in imported(node, reader.module):
                if target.module.partition(".")[0] in packages:
                    names |= {target.module, str(target).replace(":", ".")}
    return names

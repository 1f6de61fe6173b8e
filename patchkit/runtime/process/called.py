"""Records what calls of AfterImports have made, and keeps that while their group is made again.

When another row changes an object in which targets of a group lie, the group is undone and made
again. Its calls are not: a call is made once for each execution of its module.
"""

import sys
from collections.abc import Iterable

from patchkit.core.rows.declaration import AfterImport, Change
from patchkit.runtime.changes.set_by_call import PreparedSets
from patchkit.runtime.copies.scope import scope_of
from patchkit.runtime.imports.half_imported import is_half_imported
from patchkit.runtime.process.patch_state import ChangeGroup, Placed, Transaction


def half_imported(changes: Iterable[Placed], module: str) -> str | None:
    """Find a module that is still being imported, and in which an AfterImport is to set a target.

    Args:
        changes: the changes of a group.
        module: the name of their own module, which does not count.

    Returns:
        The name of the module; None for none.
    """
    for _, change in changes:
        _the_call, *targets_set = change.parts
        for part in targets_set:
            name = part.place.module
            loaded = sys.modules.get(name)
            if name != module and loaded is not None and is_half_imported(loaded):
                return name
    return None


def record_sets(made: Transaction, change: Change, prepared: PreparedSets) -> None:
    """Record the targets that a call with `sets` has changed.

    Its module is not recorded as a target, as it is for a call without `sets`. A module counts as
    in effect once it is imported; these targets do only once they are called.

    Args:
        made: where it is recorded.
        change: the AfterImport.
        prepared: the change, which was applied.
    """
    assert isinstance(change, AfterImport)
    made.results.append(prepared.result)
    for target, site in prepared.changed:
        name = str(target)
        made.targets.append(name)
        made.of_calls[name] = prepared.package
        site.rebind |= scope_of(target.module, change.rebind)
        site.home = target.module
        made.sites.append((name, site))


def take_back_others(group: ChangeGroup) -> list[BaseException]:
    """Undo a group so that it can be made again: all but what calls of AfterImports have made.

    Args:
        group: the group, which then has only what these calls have made.

    Returns:
        The errors of undos.
    """
    # `take_back` empties the transaction, and runs all its undos: so what the calls have made is
    # copied before, and their undos are left out.
    of_calls = _calls_only(group.made)
    undos = group.made.undos
    group.made.undos = [undo for undo in undos if undo not in of_calls.calls]
    errors = group.take_back()
    group.made = of_calls
    return errors


def _calls_only(made: Transaction) -> Transaction:
    """Copy the part of a transaction that calls of AfterImports have made, with its own lists."""
    names = made.of_calls
    return Transaction(
        made.patch,
        made.rank,
        undos=made.calls[:],
        calls=made.calls[:],
        sites=[(target, site) for target, site in made.sites if target in names],
        routes=[route for route in made.routes if route.target in names],
        targets=[target for target in made.targets if target in names],
        of_calls=names.copy(),
    )


def put_before(made: Transaction, earlier: Transaction) -> None:
    """Add what an earlier transaction has made to a newer one, which undoes it last.

    Args:
        made: the newer transaction.
        earlier: the earlier one, such as what calls have made before their group was made again.
    """
    made.undos[:0] = earlier.undos
    made.calls[:0] = earlier.calls
    made.sites[:0] = earlier.sites
    made.routes[:0] = earlier.routes
    made.targets[:0] = earlier.targets
    made.of_calls |= earlier.of_calls

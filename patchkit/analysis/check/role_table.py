"""Tells in which roles functions of engines run, by module, and finds rows for other roles."""

import json
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Finding, Place, finding_of_row
from patchkit.core.rows.declaration import Add, Decorate, Edit, Replace, Role, Row, Wrap
from patchkit.core.rows.target import Target

_FILES = ("vllm_roles.json", "sglang_roles.json")
"""The roles in which functions of each module were called; made by `studies/module_roles.py`."""

_CALLED = (Replace, Wrap, Decorate, Edit, Add)
"""Changes that act where their target is called; others may act where its module is imported."""


class RoleTable(NamedTuple):
    """The roles in which functions of modules were called in real engines.

    Args:
        roles_by_module: The roles for each module; a module of which none was called is left out.
        sources: By top-level package of these modules, where the roles are known from, in words.
    """

    roles_by_module: dict[str, frozenset[Role]]
    sources: dict[str, str]

    def roles(self, target: Target) -> frozenset[Role]:
        """Return the roles in which functions of a target's module were called.

        Args:
            target: The target.

        Returns:
            The roles; none if the table does not have the module.
        """
        return self.roles_by_module.get(target.module, frozenset())

    def source(self, target: Target) -> str:
        """Say where the roles of a target's module are known from.

        Args:
            target: The target.

        Returns:
            The words; '' if the table has no module of its package.
        """
        package = target.module.partition(".")[0]
        return self.sources.get(package, "")


def read_role_table() -> RoleTable:
    """Read the tables that patchkit brings with it, one for each engine.

    Returns:
        The tables as one.
    """
    table = RoleTable({}, {})
    for name in _FILES:
        file = files(__package__).joinpath(name)
        content = json.loads(file.read_text("utf-8"))
        source = f"engines of {content['release']} (a table of modules, made on {content['made']})"
        for module, names in content["modules"].items():
            table.roles_by_module[module] = roles_named(names)
            package = module.partition(".")[0]
            table.sources[package] = source
    return table


def roles_named(names: object) -> frozenset[Role]:
    """Return the roles of a list of names; names that another version has written are ignored.

    Args:
        names: What a file has in the place of the list; if it is no list, there are no roles.
    """
    if not isinstance(names, Iterable):
        return frozenset()
    known = {str(role): role for role in Role}
    return frozenset(known[name] for name in names if name in known)


def of_roles(row: Row, table: RoleTable, row_place: Place) -> Iterator[Finding]:
    """Find targets that are called in none of the row's roles, so that the row does nothing.

    Args:
        row: The row.
        table: The roles in which functions of modules were called.
        row_place: The place of the row.

    Yields:
        A finding for the first such target of each module.
    """
    reported: set[str] = set()  # the modules
    for change in row.patch.parts:
        target = change.place
        called_in = table.roles(target)
        is_called_in_a_role = not called_in.isdisjoint(row.roles)
        if is_called_in_a_role or not called_in:
            continue
        if not isinstance(change, _CALLED):
            continue
        if isinstance(change, Replace) and _is_read(target):
            continue  # the table says nothing of what is read, and not called
        if target.module in reported:
            continue
        reported.add(target.module)
        message = (
            f"the row is for {_listed(row.roles)}; functions of {target.module} were called in "
            f"{_listed(called_in)} only, in {table.source(target)}"
        )
        names = ", ".join(f"Role.{role.name}" for role in _in_order(called_in))
        fix = (
            f"roles={{{names}}}; or see with `patchkit probe {target} -- COMMAND` where your "
            "engine calls it"
        )
        yield finding_of_row(
            codes.OTHER_ROLE, message, fix, row, row_place, target=str(target)
        )


def _is_read(target: Target) -> bool:
    """Whether a target is read rather than called: an item, or what is written as a constant is."""
    name = target.qualname.rpartition(".")[2]
    return target.qualname.endswith("]") or name.isupper()


def _in_order(roles: Iterable[Role]) -> list[Role]:
    """Sort roles: from the process that starts the others on."""
    return sorted(roles, key=list(Role).index)


def _listed(roles: Iterable[Role]) -> str:
    """Return roles as words, such as `main and engine-core`."""
    return " and ".join(map(str, _in_order(roles)))

"""What a kind of change is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from patchkit.changes.sites import Site, Sites

Undo = "Callable[[], None]"


@dataclass(frozen=True)
class Context:
    """
    Where a change works.

    Args:
        module: the target's module; None before it has been imported.
        body: the loaded body.
        sites: every changed attribute of this process.

    """

    module: ModuleType | None
    body: ModuleType
    sites: Sites

    def object_named(self, name: str) -> object:
        """
        Find the body's object with this (dotted) name.

        Raises:
            TargetError: there is none.

        """
        value: object = self.body
        for part in name.split("."):
            try:
                value = getattr(value, part)
            except AttributeError as error:
                raise TargetError(_no_such_object(self.body, name)) from error
        return value


class Prepared(Protocol):
    """A change that only has to be made."""

    def apply(self) -> Applied:
        """Make the change."""
        ...


@dataclass
class Applied:
    """
    A change that was made.

    Args:
        undo: takes it back.
        site: the attribute that holds another object now, where other modules may hold copies
            of the former one.

    """

    undo: Callable[[], None]
    site: Site | None = field(default=None)


def _no_such_object(body: ModuleType, name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only on the way to an error

    public = [word for word in vars(body) if not word.startswith("__")]
    near = get_close_matches(name, public, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(sorted(public))}"
    return f"body {body.__name__} has no {name!r}{hint}"

"""
What a pack author writes: `Patch`, `Role` and the kinds of change, as frozen data.

Nothing here looks at the world. `patchkit.registry` refuses malformed rows, because only it knows
the pack that an error has to name.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Collection


class Role(str, enum.Enum):
    """What vLLM code a process runs. One process may hold several."""

    MAIN = "main"
    ENGINE_CORE = "engine-core"
    WORKER = "worker"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Target:
    """A place upstream: a module, and in it a dotted name ('' for the module itself)."""

    module: str
    qualname: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """
        Read `module:qualname` or `module`.

        Raises:
            ValueError: text is neither.

        """
        module, colon, qualname = text.partition(":")
        if not _is_dotted(module) or (colon and not _is_dotted(qualname)):
            raise ValueError(text)
        return cls(module, qualname)

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}" if self.qualname else self.module


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


@dataclass(frozen=True, kw_only=True)
class Change:
    """
    One edit to one target; the base of every kind.

    Args:
        requires: requirement strings that narrow the patch's own.
        rebind: repoint copies of the original that `from x import y` left in other modules.

    """

    requires: Collection[str] = ()
    rebind: bool = True

    # The field that holds the target, and whether it must name something inside a module.
    target_field: ClassVar[str] = "target"
    inside_module: ClassVar[bool] = True
    # The field that names an object of the body.
    body_field: ClassVar[str] = "by"

    @property
    def kind(self) -> str:
        """The word a pack author wrote: Replace, Wrap, …"""
        return type(self).__name__

    @property
    def place(self) -> Target:
        """The parsed target; the registry has refused what does not parse."""
        return Target.parse(getattr(self, self.target_field))

    @property
    def body_name(self) -> str:
        """The object of the body that this change uses."""
        return str(getattr(self, self.body_field))


@dataclass(frozen=True)
class Replace(Change):
    """
    The target becomes the body's object.

    Args:
        target: `module:qualname`.
        by: name of the object in the body: a function, class, property, constant.
        unrelated: allow a class that does not derive from the original.

    """

    target: str
    by: str
    unrelated: bool = False


@dataclass(frozen=True)
class Wrap(Change):
    """`by(wrapped, instance, args, kwargs)` of the body runs around the target."""

    target: str
    by: str


@dataclass(frozen=True)
class _ImportCall(Change):
    module: str
    call: str

    target_field: ClassVar[str] = "module"
    inside_module: ClassVar[bool] = False
    body_field: ClassVar[str] = "call"


@dataclass(frozen=True)
class BeforeImport(_ImportCall):
    """Call a body function just before a module executes."""


@dataclass(frozen=True)
class AfterImport(_ImportCall):
    """
    Call a body function just after a module has executed.

    What the function returns is called to take its effect back, if it is callable.
    """


@dataclass(frozen=True, kw_only=True)
class Patch:
    """
    One row: binds a body to versions, roles and targets.

    Args:
        name: unique, kebab-case.
        body: sibling module of the pack, `patch_<module>`.
        requires: requirement strings, all of which must hold.
        changes: what to change.
        roles: which processes; None means the folder's (`platform`: main and engine-core,
            `worker`: worker).
        why: what goes wrong without it.
        upstream: link to the issue or pull request, or `none: reason`.
        sunset: the condition under which the row is deleted.
        required: its failure stops the process; otherwise it is a warning.
        after: names of patches that come first.
        conflicts: names of patches that must not be selected beside it.
        env: `NAME` or `NAME=value` that must be set.
        when: name of a body function that returns True, or the reason to skip.

    """

    name: str
    body: str
    requires: Collection[str]
    changes: Collection[Change]
    roles: Collection[Role] | None = None
    why: str = ""
    upstream: str = ""
    sunset: str = ""
    required: bool = True
    after: Collection[str] = ()
    conflicts: Collection[str] = ()
    env: str | None = None
    when: str | None = None

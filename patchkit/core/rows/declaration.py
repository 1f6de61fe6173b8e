"""What a pack author writes, as frozen data; `patchkit.registry` refuses what is malformed."""

import enum
from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from patchkit.core.record import Record
from patchkit.core.rows.target import Target

BEFORE = "before"
SERVING = "serving"
AFTER = "after"
"""When a change is made: before its module executes, where no finder has it, after it executed."""


class Role(str, enum.Enum):
    """What code of an engine a process runs. One process may hold several."""

    MAIN = "main"
    ENGINE_CORE = "engine-core"
    WORKER = "worker"

    def __str__(self) -> str:
        return self.value


def names_of(roles: Iterable[Role]) -> str:
    """Write roles as one word, as variables and journals have them.

    Args:
        roles: The roles, in any order.

    Returns:
        Their names, such as `engine-core,worker`; '' for no role.
    """
    names = [str(role) for role in sorted(roles)]
    return ",".join(names)


def roles_named(names: str) -> frozenset[Role]:
    """Return the roles that `names_of` has written.

    Args:
        names: The names; '' for no role.

    Raises:
        ValueError: One of them is no role.
    """
    return frozenset(Role(name) for name in names.split(",") if name)


_NO_TARGETS: Collection[str] = ()
"""The `sets` of kinds that have no such field."""


class Change(Record, kw_only=True):
    """One edit to one target; the base of every kind.

    Args:
        requires: requirement strings that narrow the patch's own.
        rebind: repoint copies of the original that `from x import y` left in other modules and
            classes. True is for those of the target's own top-level package and of `__main__`;
            names of further packages (`my_plugin`) add to that. False leaves all copies.
        when: name of a body function that returns True, or the reason to leave this change out.
    """

    requires: Collection[str] = ()
    rebind: bool | Collection[str] = True
    when: str | None = None

    # The field with the target, and whether that is `module:qualname`, not just a module.
    target_field: ClassVar[str] = "target"
    inside_module: ClassVar[bool] = True
    # The field that names an object of the body; '' for a kind that uses none.
    body_field: ClassVar[str] = "by"
    moment: ClassVar[str] = AFTER
    # Further targets that it changes: a field of AfterImport, and none of any other kind.
    sets = _NO_TARGETS

    @property
    def kind(self) -> str:
        """The word a pack author wrote: Replace, Wrap, …"""
        return type(self).__name__

    @property
    def place(self) -> Target:
        """The parsed target; the registry has checked that it can be parsed."""
        return Target.parse(self.place_text)

    @property
    def place_text(self) -> str:
        """The target as it is declared."""
        return str(getattr(self, self.target_field))

    @property
    def parts(self) -> "tuple[Change, ...]":
        """The change, and one more for each further target that it changes."""
        return (self,)

    @property
    def is_reviewed(self) -> bool:
        """Whether it depends on the source of its target, which a lock then records.

        The target of an Add does not exist upstream.
        """
        return self.inside_module and self.kind != "Add"

    @property
    def body_name(self) -> str:
        """The name of the body's object that this change uses, or ''."""
        if not self.body_field:
            return ""
        return str(getattr(self, self.body_field))


class Replace(Change):
    """The target becomes an object of the body: a function, class, property, constant.

    Args:
        target: what to replace, as `module:qualname`.
        by: name of the body's object.
        unrelated: whether a class need not derive from the original.
    """

    target: str
    by: str
    unrelated: bool = False


class Wrap(Change):
    """A function of the body runs around the target.

    Args:
        target: what to wrap, as `module:qualname`.
        by: name of the function, which is called as `by(wrapped, instance, args, kwargs)`.
    """

    target: str
    by: str


class Decorate(Change):
    """The target becomes what a function of the body makes of it, as a decorator's target does.

    Args:
        target: what to decorate, as `module:qualname`.
        by: name of the function, which is called as `by(target)` when the change is made. Of a
            static or class method it is given the function in it, of a property the getter.
    """

    target: str
    by: str


class Edit(Change):
    """The target's source with `old` replaced by `new`, recompiled into the same function object.

    Args:
        target: a function, a method of any kind, or a property (its getter; `Class.name.fset` for
            its setter), as `module:qualname`.
        old: the code to replace, whose layout and comments do not count.
        new: the code that comes in its place.
        count: how often `old` has to occur.
    """

    target: str
    old: str
    new: str
    count: int = 1

    body_field: ClassVar[str] = ""


class Add(Change):
    """A new attribute, or a new item of a mapping; fails if upstream has it by now.

    Args:
        target: what to add, as `module:qualname`.
        by: name of the body's object that it becomes.
    """

    target: str
    by: str


class AddField(Change):
    """A new field on a dataclass or a pydantic dataclass, and on all that derive from or embed it.

    It is keyword-only, so that callers by position are not disturbed.

    Args:
        target: the class, as `module:qualname`.
        name: the name of the field.
        type: a type, or the text of an annotation, read with the names of the class's module and
            of the body.
        default: a literal; every instance gets its own copy of a list, dict or set.
    """

    target: str
    name: str
    type: Any
    default: Any

    body_field: ClassVar[str] = ""


class Provide(Change):
    """A module that upstream lacks here, served by the body; fails if upstream has it by now.

    Args:
        module: the module's full name. Its parent package must be upstream's, or provided too.
        by: name of the body's object that serves it: a list of names of the body (`__all__`), a
            module, a class whose attributes become the module's, or a function that is called
            with the new module.
    """

    module: str
    by: str = "__all__"

    target_field: ClassVar[str] = "module"
    inside_module: ClassVar[bool] = False
    moment: ClassVar[str] = SERVING


class _ImportCall(Change):
    """A call of a body function at the import of a module.

    Args:
        module: the module's full name.
        call: name of the function.
    """

    module: str
    call: str

    target_field: ClassVar[str] = "module"
    inside_module: ClassVar[bool] = False
    body_field: ClassVar[str] = "call"


class BeforeImport(_ImportCall):
    """Call a body function just before a module executes."""

    moment: ClassVar[str] = BEFORE


class AfterImport(_ImportCall):
    """Call a body function after a module has executed; what it returns, if callable, undoes it.

    Args:
        module: the module's full name.
        call: name of the function.
        sets: targets that the function puts other objects in the place of, as `module:qualname`.
    """

    sets: Collection[str] = ()

    @property
    def parts(self) -> tuple[Change, ...]:
        """The call, and a change of each target that it sets."""
        parts: list[Change] = [self]
        for target in self.sets:
            part = SetByCall(
                target,
                self.call,
                requires=self.requires,
                rebind=self.rebind,
                when=self.when,
            )
            parts.append(part)
        return tuple(parts)


class SetByCall(Change):
    """The call of an AfterImport puts another object in the place of a target.

    No row declares it: it is a part of the AfterImport.

    Args:
        target: what it puts another object in the place of, as `module:qualname`.
        call: name of the function.
    """

    target: str
    call: str

    body_field: ClassVar[str] = "call"

    @property
    def kind(self) -> str:
        """The word a pack author wrote."""
        return AfterImport.__name__


class Patch(Record, kw_only=True):
    """One row: binds a body to versions, roles and targets.

    Args:
        name: unique, kebab-case.
        body: sibling module of the pack, `patch_<module>`; None where no change and no `when`
            needs one (Edit, AddField).
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
        verify: name of a body function that returns True, or what is wrong; asked once the patch is
            applied and a role of it is entered. What is wrong is the patch's failure.
        data: files that decide what the patch does, relative to the pack's folder.
    """

    name: str
    body: str | None = None
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
    verify: str | None = None
    data: Collection[str] = ()

    @property
    def parts(self) -> list[Change]:
        """The changes, each followed by those of further targets that it changes."""
        return [part for change in self.changes for part in change.parts]


class Row(Record):
    """A patch in its pack, with the roles that it is for.

    Args:
        pack: the dotted name of the pack.
        patch: the patch as its pack declares it.
        roles: the roles that the patch names, or else those of the pack's folder.
    """

    pack: str
    patch: Patch
    roles: frozenset[Role]

    @property
    def name(self) -> str:
        """The patch's name."""
        return self.patch.name

    @property
    def body(self) -> str:
        """Full module name of the body; the pack itself where there is none."""
        if self.patch.body is None:
            return self.pack
        return f"{self.pack}.{self.patch.body}"

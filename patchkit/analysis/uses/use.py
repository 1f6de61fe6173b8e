"""Describes a use: a name of upstream that a file imports, reads, calls or overrides."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from patchkit.analysis.upstream.resolving.syntax import (
    Signature,
)
from patchkit.core.rows.target import Target


class Call(NamedTuple):
    """The arguments of a call.

    Args:
        places: The number of positional arguments, without `*args`.
        names: The names of the keyword arguments.
        more: Whether `*args` or `**kwargs` may add further arguments.
        bound: Whether Python adds `self`, as in `super().method()`.
    """

    places: int
    names: tuple[str, ...] = ()
    more: bool = False
    bound: bool = False


class UseGuard(NamedTuple):
    """How a file handles the absence of what it uses.

    Args:
        guarded: Whether it handles it at all.
        errors: The names of the errors that it catches, such as `ModuleNotFoundError`; () if it
            tests something instead.
        fallback_of: What else is absent wherever it is used: what the `try` imports in whose
            handler it stands. () unless that is the only reason why it is guarded.
    """

    guarded: bool = False
    errors: tuple[str, ...] = ()
    fallback_of: tuple[str, ...] = ()

    def handles(self, error: str) -> bool:
        """Whether it handles an error, as far as it is known what it catches.

        Args:
            error: `ImportError`, or `ModuleNotFoundError`, which is one.
        """
        catching = {error, "ImportError", "Exception", "BaseException"}
        return not self.errors or not catching.isdisjoint(self.errors)

    def with_inner(self, inner: "UseGuard") -> "UseGuard":
        """Return what holds for a part inside of this guard that has one of its own.

        Args:
            inner: That of the part.
        """
        if self.guarded and inner.guarded:
            return UseGuard(guarded=True)
        return inner if inner.guarded else self


UNGUARDED = UseGuard()


class Use(NamedTuple):
    """A name of upstream that a file uses.

    Args:
        target: What is used.
        how: import, attribute, call, base, override or set. A class overrides what its base has; a
            file sets what it assigns to, as in `up.C.f = mine`.
        path: The file.
        line: The line in the file.
        guard: How the file handles the absence of the target.
        at_import: Whether the target is used when the file is imported.
        read_here: Whether the package itself reads an attribute that is called as what it
            overrides: then the override is of use also where upstream does not call it.
        call: The arguments if the target is called, otherwise None.
        ours: The signature of the file's function if that overrides the target, or is assigned to
            it; None where it is not known.
    """

    target: Target
    how: str
    path: str
    line: int
    guard: UseGuard
    at_import: bool
    read_here: bool = False
    call: Call | None = None
    ours: Signature | None = None

    @property
    def guarded(self) -> bool:
        """Whether the file handles the absence of the target."""
        return self.guard.guarded

    def as_guarded(self) -> "Use":
        """Return the use as one whose absence is handled, whatever is missing."""
        return self._replace(guard=UseGuard(guarded=True))

    @property
    def is_replacement(self) -> bool:
        """Whether it puts something in the place of the target, which may be missing without it."""
        return self.how in ("override", "set")

    def marked_if_read(self, attributes: Collection[str]) -> "Use":
        """Return the use, with `read_here` if it is an override whose name its files read.

        Args:
            attributes: The names of all attributes that the files of the package read.
        """
        name = self.target.qualname.rpartition(".")[2]
        if self.how == "override" and name in attributes:
            return self._replace(read_here=True)
        return self

    def as_data(self) -> tuple[Any, ...]:
        """Return the use as a tuple of values that JSON can represent."""
        signature = None
        if self.ours is not None:
            signature = self.ours.as_data()
        # The first field, `target`, and the last, `ours`, are replaced. JSON can have all others:
        # they are plain values, and `guard` and `call` are tuples.
        return (str(self.target), *self[1:-1], signature)

    @classmethod
    def of_data(cls, data: Sequence[Any]) -> "Use":
        """Return the use for a result of `as_data`.

        Args:
            data: The result, read from JSON.
        """
        *plain, call_data, signature_data = data
        target, how, path, line, guard, at_import, read_here = plain
        guarded, errors, fallback_of = guard
        call = None
        if call_data is not None:
            places, names, more, bound = call_data
            call = Call(places, tuple(names), more, bound)
        signature = None
        if signature_data is not None:
            signature = Signature.of_data(signature_data)
        return cls(
            Target.parse(target),
            how,
            path,
            line,
            UseGuard(guarded, tuple(errors), tuple(fallback_of)),
            at_import,
            read_here,
            call,
            signature,
        )

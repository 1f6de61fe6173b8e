"""Tells whether a name is not upstream's, but one that rows add, or lies in such a name.

A row adds `a:C.f` in one place, and code may find it in another: in a class that derives from
`a:C`, or where a module has imported `C` from `a`.
"""

from collections.abc import Iterable, Iterator

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.rows.declaration import Add, AddField, Change, Provide
from patchkit.core.rows.target import Target


class AddedNames:
    """What some changes add to a release.

    Args:
        changes: The changes; those that add nothing do not count.
        release: The release.
    """

    def __init__(self, changes: Iterable[Change], release: CheckedRelease) -> None:
        self._release = release
        names: list[str] = []
        for change in changes:
            if isinstance(change, (Add, Provide)):
                names += self._dotted_names(change.place)
            elif isinstance(change, AddField):
                qualname = f"{change.place.qualname}.{change.name}"
                names += self._dotted_names(Target(change.place.module, qualname))
        self._names = tuple(names)

    def has(self, target: Target) -> bool:
        """Whether a target is one of the names, or in one of them.

        Args:
            target: The target.
        """
        if not self._names:
            return False
        dotted_names = self._dotted_names(target, with_bases=True)
        return any(name.startswith(self._names) for name in dotted_names)

    def _dotted_names(
        self, target: Target, *, with_bases: bool = False
    ) -> Iterator[str]:
        """Write a target as `a.C.f.`: what begins with this text is the target, or lies in it.

        Args:
            target: The target.
            with_bases: Whether to write a member of a class also as one of each of its bases.

        Yields:
            The name as it is written, and the name where its class or module is defined: of
            `b:C.f`, where `b` imports `C` from `a`, both `b.C.f.` and `a.C.f.`.
        """
        yield _dotted(str(target))
        # Further out, to the first class or module that the release itself has.
        holder = target
        while holder.qualname:
            holder = holder.holder
            facts = self._release.facts(holder)
            if facts.is_present:
                remainder = str(target).removeprefix(str(holder)).lstrip(":.")
                owners = [f"{facts.module}:{facts.qualname}".rstrip(":")]
                if with_bases:
                    owners += [base for base, _ in facts.bases]
                for owner in owners:
                    yield _dotted(f"{owner}.{remainder}")
                return


def _dotted(text: str) -> str:
    """Write `a:C.f` as `a.C.f.`."""
    return f"{text}.".replace(":", ".")

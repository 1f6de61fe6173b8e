"""Finds where a target went that a new release lacks.

A method is looked for where its class went, and anywhere else only by its source.
"""

from typing import NamedTuple

from patchkit.analysis.upstream.moves.catalog import Likeness, SourceFile
from patchkit.analysis.upstream.moves.evidence import (
    RENAMED,
    RENAMED_NEAR,
    Candidate,
    Evidence,
    LostDefinition,
)
from patchkit.analysis.upstream.resolving.resolve import Resolution, Resolver
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError


class MoveResult(NamedTuple):
    """What became of a target.

    Args:
        place: The target that it is now; None where it is gone.
        likeness: How alike the new source is to the old one, from 0 to 1; None where only names
            decide.
        words: What happened, for people; "" where nothing is known.
    """

    place: Target | None = None
    likeness: float | None = None
    words: str = ""


GONE = MoveResult()
_SHORT = 0.9
"""Likeness from which a short method is the same, in the same class."""


class MoveSearch:
    """A search through a new release for what an old one has.

    Args:
        new: The new release.
        old: The old release; without one, only names decide.
        reach: Bytes of changed files to fetch for one target; None for all of them.
    """

    def __init__(
        self, new: Resolver, old: Resolver | None, reach: int | None = None
    ) -> None:
        self._new = new
        self._old = old
        self._evidence = Evidence(new, old, reach)
        self._results: dict[Target, MoveResult] = {}

    def find(self, target: Target) -> MoveResult:
        """Find what became of a target.

        Args:
            target: The target, which the new release lacks.

        Returns:
            Where it went; `GONE` if nothing is known of that.

        Raises:
            UpstreamError: A release cannot be read.
        """
        if target not in self._results:
            # The search may come back to this target by way of others: with this, it ends there.
            self._results[target] = GONE
            try:
                self._results[target] = self._search(target)
            except UpstreamError:
                del self._results[target]  # the next call is to raise the error, too
                raise
        return self._results[target]

    def _search(self, target: Target) -> MoveResult:
        """Choose the search by what the target is in the old release: module, member or alias."""
        if self._old is None:
            return self._by_name(target)
        old = self._old.resolve(target)
        if old.state != "present":
            return self._by_name(target)  # there is no source to compare
        if not target.qualname:
            return self._module(target)
        if len(target.steps) > 1:
            return self._member(target, old)
        if old.kind is Kind.OUTSIDE:
            return GONE  # another distribution defines it
        if old.defined and old.defined != target:
            return self._alias(old, old.defined)
        return self._definition(target, old)

    def _alias(self, old: Resolution, defined: Target) -> MoveResult:
        """Find another name for a target that the old release only imports from elsewhere.

        Args:
            old: The target in the old release.
            defined: Where the old release defines it.
        """
        new = self._new.resolve(defined)
        if new.state == "present":
            return _by_resolution(
                defined, old, new, f"it was {defined}, which is still there"
            )
        result = self.find(defined)
        if result.place is None:
            return result
        words = f"it was {defined}, {result.words}"
        return result._replace(words=words)

    def _member(self, target: Target, old: Resolution) -> MoveResult:
        """Find a member of a class: in the same class, or in the one that its class became.

        Where neither has it, it is looked for by its body.
        """
        owner = target.holder
        in_module = self._in_module(target)
        if in_module is not None:
            found = self.find(in_module)
            if found.place is not None:
                return found
        if self._new.resolve(owner).state == "present":
            return self._lost_member(owner, old)
        new_owner = self.find(owner).place
        if new_owner is None:
            return self._by_body(old, f"{owner} is gone too")
        member = target.qualname[len(owner.qualname) :]  # with its dot: `.method`
        # If the owner is a module, by another name, its qualname is '', and no dot comes first.
        qualname = (new_owner.qualname + member).removeprefix(".")
        moved = Target(new_owner.module, qualname)
        new = self._new.resolve(moved)
        if new.state == "present":
            return _by_resolution(moved, old, new, f"moved with {owner} to {moved}")
        if new.state == "undecidable":
            message = (
                f"{owner} is now {new_owner}, and it cannot be told whether that has it"
            )
            return MoveResult(words=message)
        return self._lost_member(new_owner, old)

    def _in_module(self, target: Target) -> Target | None:
        """Return `a.b:C` for `a:b.C`, where `b` is a module, if the new release lacks that, too."""
        assert self._old is not None
        holder = self._old.resolve(target.holder)
        if holder.kind is not Kind.MODULE or not holder.module:
            return None
        in_module = Target(holder.module, str(target.steps[-1]))
        is_lost = self._new.resolve(in_module).state == "absent"
        return in_module if is_lost and in_module != target else None

    def _lost_member(self, owner: Target, old: Resolution) -> MoveResult:
        """Find a member that its class no longer has.

        It may have another name now, or the class may no longer derive from the base that defines
        it, or its body is somewhere else.

        Args:
            owner: The class in the new release.
            old: The member in the old release.
        """
        lost = LostDefinition.of(old)
        if lost is not None:
            renamed = self._renamed_in(owner, lost)
            if renamed is not None:
                return _by_candidate(renamed, "renamed to")
        # The target names the derived class, `origin` the base where the member is defined.
        origin = old.defined
        if origin is not None and self._is_inherited(old.target, origin):
            new = self._new.resolve(origin)
            if new.state == "present":
                message = f"it came from {origin}, which {owner} no longer derives from"
                return _by_resolution(origin, old, new, message)
        return self._by_body(old, f"{owner} no longer has it")

    def _is_inherited(self, target: Target, origin: Target) -> bool:
        """Whether a class of the old release has a member from a base, `origin`.

        What a class only assigns, as `kind = Kind.ONE`, comes from no base.
        """
        assert self._old is not None
        bases = self._old.resolve(target.holder).bases
        return any(
            Target(base.module, base.qualname) == origin.holder for base in bases
        )

    def _renamed_in(self, owner: Target, lost: LostDefinition) -> Candidate | None:
        """Find a method of a class that has another name now, and a body that is much alike.

        Args:
            owner: The class in the new release.
            lost: The method in the old release.

        Returns:
            The most alike one; None if none is alike enough.
        """
        # The class may be imported: its methods are in the file that defines it.
        defined_owner = self._new.resolve(owner).defined or owner
        file = self._evidence.new_catalog.module(defined_owner.module)
        if file is None or lost.likeness.is_trivial:
            return None
        limit = _SHORT  # short bodies are alike by chance, so they have to be nearly the same
        if lost.likeness.is_telling:
            limit = RENAMED_NEAR
        methods = []
        for definition in file.definitions:
            class_name = definition.qualname.rpartition(".")[0]
            if definition.kind == "def" and class_name == defined_owner.qualname:
                methods.append(definition)
        compared = self._evidence.compared(file, methods, lost)
        alike = (candidate for candidate in compared if candidate.likeness >= limit)
        return self._evidence.best(alike, lost.target)

    def _by_body(self, old: Resolution, reason: str) -> MoveResult:
        """Find a definition in any file whose body is much like that of a member.

        Args:
            old: The member in the old release.
            reason: Why it is looked for anywhere, such as `a:C no longer has it`: the beginning of
                the result's words.
        """
        lost = LostDefinition.of(old)
        if lost is None or not lost.likeness.is_telling:
            return MoveResult(words=reason)
        # The last stage has the files of all stages.
        *_, files = self._evidence.stages(lost.target.module, len(lost.text))
        compared = self._evidence.alike(files, lost)
        alike = (candidate for candidate in compared if candidate.likeness >= RENAMED)
        best = self._evidence.best(alike, lost.target)
        if best is None:
            return MoveResult(words=reason)
        return _by_candidate(best, f"{reason}; its body went to")

    def _definition(self, target: Target, old: Resolution) -> MoveResult:
        """Find a class or function of a module, by its name or else by its source."""
        lost = LostDefinition.of(old)
        if lost is None:
            return GONE
        files: list[SourceFile] = []
        for files in self._evidence.stages(target.module, len(lost.text)):
            namesakes = self._evidence.same_name(files, lost)
            best = self._evidence.best(namesakes, target)
            if best is not None:
                return _by_candidate(best, "moved to")
        # The last stage has the files of all stages.
        renamed = self._evidence.renamed(files, lost)
        best = self._evidence.best(renamed, target)
        if best is None:
            return GONE
        if best.target.module == target.module:
            return _by_candidate(best, "renamed to")
        return _by_candidate(best, "moved and renamed to")

    def _module(self, target: Target) -> MoveResult:
        """Find the new file that a module became."""
        old_file = self._evidence.old_catalog.module(target.module)
        if old_file is None:
            return GONE
        candidates = []
        for new_file in self._evidence.new_catalog.files(self._evidence.added_paths):
            candidate = self._evidence.succession(old_file, new_file)
            if candidate is not None:
                candidates.append(candidate)
        best = self._evidence.best(candidates, target)
        if best is None:
            return GONE
        return _by_candidate(best, "moved to")

    def _by_name(self, target: Target) -> MoveResult:
        """Find the only definition of the target's name, where no old source can be compared."""
        namesakes: set[Target] = set()
        # The size of its source is not known. With 0, each file that has not shrunk may have it.
        for files in self._evidence.stages(target.module, 0):
            for file in files:
                if _has_name(file, target):
                    namesakes.add(Target(file.module, target.qualname))
            if namesakes:
                break
        present = [
            namesake for namesake in namesakes if self._evidence.is_present(namesake)
        ]
        if len(present) != 1:
            return GONE  # several are no answer
        message = f"something of that name is at {present[0]}, by name only"
        return MoveResult(present[0], words=message)


def _has_name(file: SourceFile, target: Target) -> bool:
    """Whether a file defines the name of a target; for a module, whether it has its name."""
    if not target.qualname:
        return file.short_name == target.module.rpartition(".")[2]
    # `tops` has variables, which `names` leaves out, and no methods.
    return target.qualname in file.names or target.qualname in file.tops


def _by_resolution(
    target: Target, old: Resolution, new: Resolution, message: str
) -> MoveResult:
    """Return a result that was found by resolving names, with the likeness of the two sources."""
    if not old.nodes or not new.nodes:
        return MoveResult(target, words=message)
    # The first node is the definition; later ones, which modify it, are not compared.
    old_likeness = Likeness(old.nodes[:1])
    new_likeness = Likeness(new.nodes[:1])
    likeness = old_likeness.to(new_likeness)
    return MoveResult(target, likeness, f"{message}, {likeness:.0%} alike")


def _by_candidate(candidate: Candidate, how: str) -> MoveResult:
    message = f"{how} {candidate.target}, {candidate.likeness:.0%} alike"
    return MoveResult(candidate.target, candidate.likeness, message)

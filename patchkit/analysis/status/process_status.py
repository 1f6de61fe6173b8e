"""Holds what is known of a process: its roles, its patches, the process that started it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.status.entries import BodyFile, CallResult, TargetProbe
from patchkit.registry import is_own_pack

FORMAT = 1
"""The format of journals; it changes where a key changes its meaning, not where keys are new."""
CALLED = "called"
NEVER_CALLED = "never called"
NOT_OBSERVABLE = "not observable"


class ChangedModule(NamedTuple):
    """What a journal says of a patch's changes in one module.

    Args:
        rebound: Copies that were repointed.
        out_of_reach: Copies that could not be repointed.
        untraced: By target, why copies of it were not looked for.
        targets: What the patch changed there.
        hidden: By target, the patch whose replacement keeps this one's from being called.
    """

    rebound: tuple[str, ...]
    out_of_reach: tuple[str, ...]
    untraced: dict[str, str]
    targets: tuple[str, ...]
    hidden: dict[str, str]


class ForeignValue(NamedTuple):
    """A value that somebody else assigned to a target of a patch.

    Args:
        target: The target.
        by: Whose value it is.
        wraps: Whether it wraps the patched value, so that the patch still acts below it.
        unsure: Whether nobody can tell if it calls the patched value.
    """

    target: str
    by: str
    wraps: bool
    unsure: bool


class ChildStart(NamedTuple):
    """The start of a process by `multiprocessing`, as its parent reports it.

    Args:
        pid: The pid of the child.
        name: The name that the parent gave the child.
        role: The role that the child is to enter; None if it has none.
        time: When it was started, in seconds since the epoch.
    """

    pid: int
    name: str
    role: str | None
    time: float


@dataclass
class PatchStatus:
    """The last status of one patch in one process; times are seconds since the epoch.

    Args:
        name: The name of the patch.
        pack: The pack that declares it; empty where the journal does not say.
        status: armed, applied, skipped or failed.
        reason: Why it was skipped or failed; of an armed one, what it waits for if that is more
            than the import of its target.
        time: When the status was reported; 0 while nothing has happened.
        roles: The roles that the patch is for; empty where the journal does not say.
        inherited: Whether the status comes from the parent, by a fork.
        modules: By name, the modules that the patch changed.
        strangers: Values that others assigned to its targets.
        called: By the name of the function, what a call of an AfterImport has set.
        unreviewed: What it changes that is not as it was reviewed, for people.
        is_finding: Whether `unreviewed` is to be acted on: the patch is left out for it, or the
            lock cannot be read.
        effects: By target, whether it was called.
        answered: When the patch's `verify` was asked.
        answer: What `verify` said was wrong.
        left_out: By target, why the target is not for this process.
        kept: What holds code of a patch that was taken back, as it is for another role.
        imported: The modules of its targets that are imported, though it has not changed them.
        unpatched: The targets that ran without it, as it is for another role.
        silent: The targets that are not observable, and of whose code nothing has run.
        body: The file of its body as it was loaded; None where the journal does not say.
        trace: The lines of the traceback of its failure, without patchkit's own frames.
        tolerated: Whether the process goes on though it has failed: it is not required.
    """

    name: str
    pack: str = ""
    status: str = "armed"
    reason: str = ""
    time: float = 0
    roles: tuple[str, ...] = ()
    inherited: bool = False
    modules: dict[str, ChangedModule] = field(default_factory=dict)
    strangers: list[ForeignValue] = field(default_factory=list)
    called: dict[str, CallResult] = field(default_factory=dict)
    unreviewed: str = ""
    is_finding: bool = False
    effects: dict[str, str] = field(default_factory=dict)
    answered: float | None = None
    answer: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    unpatched: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    body: BodyFile | None = None
    trace: tuple[str, ...] = ()
    tolerated: bool = False

    @property
    def comes_with_patchkit(self) -> bool:
        """Whether a pack of patchkit's own declares it, which is always there."""
        return is_own_pack(self.pack)

    def is_for(self, role: str) -> bool:
        """Whether a process of this role needs the patch.

        Args:
            role: The role; a patch whose roles are not known is for all of them.
        """
        return not self.roles or role in self.roles

    @property
    def rebound(self) -> list[str]:
        """Copies that were repointed, of all modules."""
        copies: list[str] = []
        for module in self.modules.values():
            copies += module.rebound
        return copies

    @property
    def out_of_reach(self) -> list[str]:
        """Copies that could not be repointed, of all modules.

        What still holds code of a patch that was taken back could not be repointed either.
        """
        copies = list(self.kept)
        for module in self.modules.values():
            copies += module.out_of_reach
        return copies

    @property
    def untraced(self) -> dict[str, str]:
        """Why copies were not looked for, by target."""
        reasons: dict[str, str] = {}
        for module in self.modules.values():
            reasons.update(module.untraced)
        return reasons

    @property
    def hidden(self) -> dict[str, str]:
        """The patches whose replacements keep this one's from being called, by target."""
        upper: dict[str, str] = {}
        for module in self.modules.values():
            upper.update(module.hidden)
        return upper

    @property
    def targets(self) -> list[str]:
        """What the patch has changed, each target once."""
        targets: dict[str, None] = {}
        for module in self.modules.values():
            targets.update(dict.fromkeys(module.targets))
        return list(targets)

    @property
    def calls(self) -> dict[str, str]:
        """Whether each target was called, as far as that was observed."""
        return {
            target: self.effects.get(target, NOT_OBSERVABLE) for target in self.targets
        }

    @property
    def in_effect(self) -> str:
        """Whether any code of the patch has run: yes, no or unknown.

        It is "no" only if the calls of all targets can be observed, and none was called.
        """
        observations = set(self.calls.values())
        if CALLED in observations:
            return "yes"
        if observations == {NEVER_CALLED}:
            return "no"
        return "unknown"

    @property
    def is_silent(self) -> bool:
        """Whether nothing shows that the patch has had an effect, for `misplaced`.

        So it has changed targets, of which none was called. A target whose calls are not observable
        counts as not called if it is in `silent`, or is an item of a container such as a registry.
        Any other one, such as a constant, may have been used unseen: then it is False.
        """
        for target, call in self.calls.items():
            is_unseen = target in self.silent or target.endswith("]")
            if call == CALLED or (call == NOT_OBSERVABLE and not is_unseen):
                return False
        return bool(self.targets)

    @property
    def is_unused(self) -> bool:
        """Whether no code of the patch has run, though not all its targets are hidden by others."""
        return self.in_effect == "no" and self.hidden.keys() != set(self.targets)


@dataclass(eq=False)
class ProcessStatus:
    """One process as its journal describes it, or one that left no journal.

    Args:
        host: The name of its node.
        pid: Its pid.
        ppid: The pid of its parent when it was armed.
        argv: Its command line.
        started: When it was armed, or noticed; seconds since the epoch.
        format: The format of its journal.
        began: When the system started it, in clock ticks since boot; tells it from others that
            had the same pid.
        space: Where its pid counts: the boot and the pid namespace; "" if that is not known.
        asked_by: `host:pid` of the process that asked Ray for it.
        is_copy: Whether it was forked and nothing has happened in it since.
        roles: The roles that it entered; after a fork into one, only that.
        rank: The rank of a worker.
        patches: By name, the status of its patches.
        layers: By target, the names of the patches on it, innermost first.
        digests: By role, the digest of its patch set.
        disagreements: By role, how it differs from its engine.
        verified: When it last verified what it had applied.
        imported: The modules of targets, whatever their patches' roles, that it has imported.
        looked: When it last reported such modules, or calls of targets without their patch.
        glanced: When it last reported which targets of applied patches were called.
        unmet: By patch that stays armed, why it does not apply here, such as for its version.
        unknown: What it runs and which engine it has loaded, if no row describes it.
        left_without: By patch, why the patch has no process.
        children: The processes that it started.
        probed: By target, what `patchkit probe` observes.
        is_cut: Whether its journal reached its limit.
        lacks_start: Whether its journal lacks the first entry, so that its patches are not known.
        is_reached: Whether patchkit is in it.
        is_starting: Whether patchkit may be in it soon.
        name: The name that its parent gave it, or its title.
        reason: Why it counts as not reached.
        alive: Whether it runs; None where that is not known.
        parent: The process that started it; None where that is not known.
        modified: When its journal was changed, by the clock of the folder; None if not known.
    """

    host: str
    pid: int
    ppid: int = 0
    argv: list[str] = field(default_factory=list)
    started: float = 0
    format: int = FORMAT
    began: int | None = None
    space: str = ""
    asked_by: str | None = None
    is_copy: bool = False
    roles: list[str] = field(default_factory=list)
    rank: int | None = None
    patches: dict[str, PatchStatus] = field(default_factory=dict)
    layers: dict[str, list[str]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    disagreements: dict[str, str] = field(default_factory=dict)
    verified: float | None = None
    imported: list[str] = field(default_factory=list)
    looked: float | None = None
    glanced: float | None = None
    unmet: dict[str, str] = field(default_factory=dict)
    unknown: str = ""
    left_without: dict[str, str] = field(default_factory=dict)
    children: list[ChildStart] = field(default_factory=list)
    probed: dict[str, TargetProbe] = field(default_factory=dict)
    is_cut: bool = False
    lacks_start: bool = False
    is_reached: bool = True
    is_starting: bool = False
    name: str = ""
    reason: str = ""
    alive: bool | None = None
    parent: "ProcessStatus | None" = None
    modified: float | None = None

    def counts_in(self, space: str) -> bool:
        """Whether its pid may be one of a pid namespace; True if either is not known.

        Args:
            space: The boot and the namespace, as in `space`.
        """
        return not space or not self.space or space == self.space

    @property
    def original(self) -> "ProcessStatus | None":
        """The process, itself no copy, that this one is a copy of; None for no copy, or unknown."""
        ancestors = {
            self
        }  # damaged journals may make a circle of parents: it ends there
        original: ProcessStatus | None = self
        while original is not None and original.is_copy:
            original = original.parent
            if original in ancestors:
                return None
            if original is not None:
                ancestors.add(original)
        return None if original is self else original

    @property
    def digest(self) -> str | None:
        """A hash of its patches: its digest, or a hash of its digests if it has several roles.

        A process outside of engines has no digest: the names of its applied patches are hashed
        then. None if these are unknown.
        """
        if len(self.digests) == 1:
            return next(iter(self.digests.values()))
        if self.digests:
            return _hash(f"{role} {digest}" for role, digest in self.digests.items())
        if not (self.roles and self.is_reached):
            return None
        return _hash(
            name for name, patch in self.patches.items() if patch.status == "applied"
        )

    def stand(self, patch: PatchStatus) -> tuple[str, str]:
        """Return the status of a patch as it is shown to people, and the reason.

        Journals have no entry for a patch that is for other roles, so it stays armed; it is shown
        as skipped.

        Args:
            patch: One of its patches.
        """
        if patch.status != "armed":
            return patch.status, patch.reason
        if not self.roles:
            return "armed", patch.reason or "the process has not entered a role"
        if not self._has_role_for(patch):
            return "skipped", f"for {', '.join(patch.roles)}"
        unmet = self.unmet.get(patch.name)
        if unmet:
            return "skipped", unmet
        return "armed", patch.reason or "no import of its target has been seen"

    @property
    def observed(self) -> float | None:
        """When it last looked at what was called; None if it never did.

        A look that finds no new call is recorded as `verified` only.
        """
        if not self.glanced:
            return None
        return max(self.glanced, self.verified or 0)

    def is_due(self, patch: PatchStatus) -> bool:
        """Whether the status of a patch is shown: its role needs it, or something became of it.

        Most patches are for other roles than a process has, and just stay armed there.

        Args:
            patch: One of its patches.
        """
        is_needed = not self.roles or self._has_role_for(patch)
        return is_needed or patch.status in {"applied", "failed"}

    def _has_role_for(self, patch: PatchStatus) -> bool:
        return any(map(patch.is_for, self.roles))


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256(
        "\n".join(sorted(lines)).encode(errors="replace")
    ).hexdigest()[:16]

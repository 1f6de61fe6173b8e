"""What is known of a process: its roles, its patches, who started it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass
class PatchStatus:
    """
    The last status of one patch in one process.

    Args:
        name: the patch's.
        status: armed, applied, skipped or failed.
        reason: of skipped and failed; of armed, where it waits for more than its target.
        time: seconds since the epoch, 0 while nothing has happened.
        roles: those that the patch is for, empty where the journal does not say.
        inherited: from the parent, by a fork.
        modules: what was told of each module that it has changed.
        strangers: what somebody else has put on what it has changed.
        unreviewed: what it changes that is not as it was reviewed, in words; '' where all is.
        is_finding: whether that is to be looked at: it leaves the patch out, or cannot be read.
        left_out: by target, why a change of it is not for this process.

    """

    name: str
    status: str = "armed"
    reason: str = ""
    time: float = 0
    roles: tuple[str, ...] = ()
    inherited: bool = False
    modules: dict[str, ChangedModule] = field(default_factory=dict)
    strangers: list[ForeignValue] = field(default_factory=list)
    unreviewed: str = ""
    is_finding: bool = False
    left_out: dict[str, str] = field(default_factory=dict)

    def is_for(self, role: str) -> bool:
        """Whether a process of this role needs it."""
        return not self.roles or role in self.roles

    @property
    def rebound(self) -> list[str]:
        """Copies that were repointed."""
        return [words for module in self.modules.values() for words in module.rebound]

    @property
    def out_of_reach(self) -> list[str]:
        """Copies that could not be."""
        return [words for module in self.modules.values() for words in module.out_of_reach]

    @property
    def untraced(self) -> dict[str, str]:
        """Why copies were not looked for, by target."""
        reasons = (module.untraced for module in self.modules.values())
        return {target: why for untraced in reasons for target, why in untraced.items()}

    @property
    def targets(self) -> list[str]:
        """What it has changed."""
        targets = (target for module in self.modules.values() for target in module.targets)
        return list(dict.fromkeys(targets))


@dataclass(frozen=True)
class ChangedModule:
    """What was told of a patch's changes in one module."""

    rebound: tuple[str, ...]
    out_of_reach: tuple[str, ...]
    untraced: dict[str, str]
    targets: tuple[str, ...]


@dataclass(frozen=True)
class ForeignValue:
    """Somebody else's value on a target of a patch; `wraps` tells that the patch acts below it."""

    target: str
    by: str
    wraps: bool


@dataclass(frozen=True)
class ChildStart:
    """A process that another one started by `multiprocessing`, as that one tells."""

    pid: int
    name: str
    role: str | None
    time: float


@dataclass(eq=False)
class ProcessStatus:
    """
    One process, as its journal tells, or one that left none.

    Args:
        host: node name.
        pid: its own.
        ppid: its parent's when it was armed.
        argv: its command line.
        started: when it was armed, or noticed; seconds since the epoch.
        began: tells it from others that had the same pid.
        asked_by: `host:pid` of the process that asked Ray for it.
        is_copy: forked, and nothing has happened in it since.
        roles: in the order in which it entered them; after a fork into a role, only that one.
        rank: of a worker.
        patches: by name.
        layers: for each target the patches that lie on it, the innermost first.
        digests: of its patch sets, by role.
        disagreements: what it found different from its engine, by role.
        verified: when it last looked at what it had applied; seconds since the epoch.
        unmet: by name of a patch, why it is not for this process though its role is.
        children: those that it started.
        is_cut: whether its journal reached its limit.
        is_reached: whether patchkit is there.
        is_starting: whether it may be there soon.
        name: of the child process, as its parent calls it, or its title.
        reason: why it counts as not reached.
        alive: whether it runs; None where that is not known.
        parent: the process that it belongs to.

    """

    host: str
    pid: int
    ppid: int = 0
    argv: list[str] = field(default_factory=list)
    started: float = 0
    began: int | None = None
    asked_by: str | None = None
    is_copy: bool = False
    roles: list[str] = field(default_factory=list)
    rank: int | None = None
    patches: dict[str, PatchStatus] = field(default_factory=dict)
    layers: dict[str, list[str]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    disagreements: dict[str, str] = field(default_factory=dict)
    verified: float | None = None
    unmet: dict[str, str] = field(default_factory=dict)
    children: list[ChildStart] = field(default_factory=list)
    is_cut: bool = False
    is_reached: bool = True
    is_starting: bool = False
    name: str = ""
    reason: str = ""
    alive: bool | None = None
    parent: ProcessStatus | None = None

    @property
    def digest(self) -> str | None:
        """Hash of its patch sets; of what is applied, where no engine was configured."""
        if len(self.digests) == 1:
            return next(iter(self.digests.values()))
        if self.digests:
            return _hash(f"{role} {digest}" for role, digest in self.digests.items())
        if not (self.roles and self.is_reached):
            return None
        return _hash(name for name, patch in self.patches.items() if patch.status == "applied")

    def stand(self, patch: PatchStatus) -> tuple[str, str]:
        """Say how it stands with a patch, and why: what is not for this process is skipped."""
        if patch.status != "armed":
            return patch.status, patch.reason
        if not self.roles:
            return "armed", patch.reason or "the process has not entered a role"
        if not any(map(patch.is_for, self.roles)):
            return "skipped", f"for {', '.join(patch.roles)}"
        if reason := self.unmet.get(patch.name):
            return "skipped", reason
        return "armed", patch.reason or "no import of its target has been seen"

    def is_due(self, patch: PatchStatus) -> bool:
        """Whether it is of interest how it stands with a patch: not where another role needs it."""
        is_mine = not self.roles or any(map(patch.is_for, self.roles))
        return is_mine or patch.status in {"applied", "failed"}


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode(errors="replace")).hexdigest()[:16]

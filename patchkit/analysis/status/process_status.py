"""What is known of a process: its roles, its patches, who started it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

FORMAT = 1  # of journals; another one where a key means something else, not where keys are new
CALLED, NEVER_CALLED, NOT_OBSERVABLE = "called", "never called", "not observable"


class ChangedModule(NamedTuple):
    """What was told of a patch's changes in one module: copies repointed or not, and targets."""

    rebound: tuple[str, ...]
    out_of_reach: tuple[str, ...]
    untraced: dict[str, str]  # by target, why copies of it were not looked for
    targets: tuple[str, ...]


class ForeignValue(NamedTuple):
    """Somebody else's value on a target of a patch; `wraps` tells that the patch acts below it."""

    target: str
    by: str
    wraps: bool


class ChildStart(NamedTuple):
    """A process that another one started by `multiprocessing`, as that one tells."""

    pid: int
    name: str
    role: str | None
    time: float


@dataclass
class PatchStatus:
    """The last status of one patch in one process; times are seconds since the epoch."""

    name: str
    status: str = "armed"  # or applied, skipped, failed
    reason: str = ""  # of skipped and failed; of armed, where it waits for more than its target
    time: float = 0  # 0 while nothing has happened
    roles: tuple[str, ...] = ()  # that it is for; empty where the journal does not say
    inherited: bool = False  # from the parent, by a fork
    modules: dict[str, ChangedModule] = field(default_factory=dict)
    strangers: list[ForeignValue] = field(default_factory=list)
    unreviewed: str = ""  # what it changes that is not as it was reviewed, in words
    is_finding: bool = False  # that leaves the patch out, or cannot be read
    effects: dict[str, str] = field(default_factory=dict)  # by target, whether it was called
    answered: float | None = None  # when its `verify` was asked
    answer: str = ""  # what that said was wrong
    left_out: dict[str, str] = field(default_factory=dict)  # by target, why it is not for here

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

    @property
    def calls(self) -> dict[str, str]:
        """Say of each target whether it was called, as far as that was looked at."""
        return {target: self.effects.get(target, NOT_OBSERVABLE) for target in self.targets}

    @property
    def in_effect(self) -> str:
        """Say whether any of its code has run: yes, no, or unknown."""
        words = set(self.calls.values())
        if CALLED in words:
            return "yes"
        return "no" if words == {NEVER_CALLED} else "unknown"


@dataclass(eq=False)
class ProcessStatus:
    """One process, as its journal tells, or one that left none."""

    host: str
    pid: int
    ppid: int = 0  # when it was armed
    argv: list[str] = field(default_factory=list)
    started: float = 0  # when it was armed, or noticed; seconds since the epoch
    format: int = FORMAT  # of its journal
    began: int | None = None  # tells it from others that had the same pid
    asked_by: str | None = None  # `host:pid` of the process that asked Ray for it
    is_copy: bool = False  # forked, and nothing has happened in it since
    roles: list[str] = field(default_factory=list)  # as entered; since a fork into one, only that
    rank: int | None = None  # of a worker
    patches: dict[str, PatchStatus] = field(default_factory=dict)  # by name
    layers: dict[str, list[str]] = field(default_factory=dict)  # names by target, innermost first
    digests: dict[str, str] = field(default_factory=dict)  # of its patch sets, by role
    disagreements: dict[str, str] = field(default_factory=dict)  # with its engine, by role
    verified: float | None = None  # when it last looked at what it had applied
    glanced: float | None = None  # when it last told what was called
    unmet: dict[str, str] = field(default_factory=dict)  # by patch, why its role alone is met
    unknown: str = ""  # what it runs, if it has vLLM loaded and no row knows it
    left_without: dict[str, str] = field(default_factory=dict)  # by patch, why it has no process
    children: list[ChildStart] = field(default_factory=list)
    is_cut: bool = False  # its journal reached its limit
    is_reached: bool = True  # patchkit is there
    is_starting: bool = False  # it may be there soon
    name: str = ""  # of the child process, as its parent calls it, or its title
    reason: str = ""  # why it counts as not reached
    alive: bool | None = None  # None where that is not known
    parent: "ProcessStatus | None" = None

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

    @property
    def observed(self) -> float | None:
        """When it last looked what was called; a look that finds nothing new tells only that."""
        return max(self.glanced, self.verified or 0) if self.glanced else None

    def is_due(self, patch: PatchStatus) -> bool:
        """Whether it is of interest how it stands with a patch: not where another role needs it."""
        is_mine = not self.roles or any(map(patch.is_for, self.roles))
        return is_mine or patch.status in {"applied", "failed"}


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode(errors="replace")).hexdigest()[:16]

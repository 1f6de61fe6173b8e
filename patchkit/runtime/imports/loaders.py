"""Makes loaders report when they execute their module, and otherwise behave as before."""

import copy
import sys
from _thread import get_ident
from collections.abc import Callable
from importlib import _bootstrap_external
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType, ModuleType
from typing import Any, Protocol, TypeVar

from patchkit.core.record import Record, field
from patchkit.errors import PatchkitError, TargetError
from patchkit.runtime.imports.supplied_modules import running_code

Method = TypeVar("Method", bound=Callable[..., Any])

_NAMES_OF_MAIN = ("__main__", "__mp_main__")
"""What the main module is called, in the process itself and in a child that it spawns."""


class Watcher(Protocol):
    """Is told of imports, and may ignore them. The import statement raises what a method does."""

    def importing(self, name: str) -> None:
        """Hear that a module is about to execute.

        Args:
            name: The dotted name of the module.
        """

    def imported(self, name: str, module: ModuleType) -> None:
        """Hear that a module has executed, unless `sys.modules` holds another one of its name.

        Args:
            name: The dotted name of the module.
            module: What `sys.modules` holds for it, as it may have replaced itself.
        """

    def import_ended(self, name: str) -> None:
        """Hear that an import has ended for which another thread waited while `imported` ran.

        Args:
            name: The dotted name of the module.
        """

    def main_unreachable(self, name: str, reason: str) -> None:
        """Hear that a module runs as `__main__`, and cannot be imported under its own name instead.

        Args:
            name: The dotted name of the module.
            reason: Why not, as a sentence that goes on after a colon.
        """


class Notifier(Record, frozen=False, eq=False):
    """Which modules are watched, and which execute now; the loaders of a finder share it.

    Args:
        watcher: Hears of the modules in `names`.
        names: The dotted names of the modules that are watched for it.
        own: What patchkit itself calls once a module has executed, by the module's name.
        active: Whether anything is reported.
        executing: The identities of modules whose end will be reported.
    """

    watcher: Watcher
    names: set[str] = field(default_factory=set)
    own: dict[str, Callable[[ModuleType], None]] = field(default_factory=dict)
    active: bool = False
    executing: set[int] = field(default_factory=set)

    def is_for(self, name: str) -> bool:
        """Whether a module is watched now.

        Args:
            name: The dotted name of the module.
        """
        return self.active and (name in self.names or name in self.own)

    def imported(self, name: str, module: ModuleType) -> None:
        """Report a module that has executed.

        Args:
            name: The dotted name of the module.
            module: What `sys.modules` holds for it.
        """
        if self.active and name in self.own:
            self.own[name](module)
        if self.active and name in self.names:
            self.watcher.imported(name, module)

    def completed(self, name: str) -> None:
        """Report the end of an awaited import, unless it failed; an error here makes it fail.

        Args:
            name: The dotted name of the module, which had not executed when the wait began.
        """
        self._report_end(name, self.watcher.imported)

    def ended(self, name: str) -> None:
        """Do the same for an import whose execution was reported before.

        Args:
            name: The dotted name of the module.
        """
        self._report_end(name, lambda name, _: self.watcher.import_ended(name))

    def _report_end(self, name: str, report: Callable[[str, ModuleType], None]) -> None:
        """Report a module that has been imported; where that raises, the import has failed."""
        module = sys.modules.get(name)
        if module is None or not self.active:
            return
        try:
            report(name, module)
        except BaseException:
            sys.modules.pop(name, None)
            raise


def instrument(name: str, spec: ModuleSpec, notifier: Notifier) -> ModuleSpec:
    """Have the loader of a spec, unless of an old kind, report every execution to a notifier.

    Args:
        name: The dotted name of the module.
        spec: The module's spec; its loader is replaced.
        notifier: What the executions are reported to.

    Returns:
        The same spec.
    """
    if spec.loader is not None:
        spec.loader = _reporting_loader(name, spec.loader, notifier)
    elif spec.submodule_search_locations is not None:
        spec.loader = _namespace_loader(name, spec, notifier)
    return spec


def reporting_thread(spec: Any) -> int | None:
    """Return the thread that has executed a module and now reports it, or None.

    Args:
        spec: The module's spec, or whatever it has in its place.
    """
    stand_in = _stand_in_of(getattr(spec, "loader", None))
    if stand_in is None:
        return None
    return stand_in.executed_by


def _among_importlib(function: Method) -> Method:
    """Name a function's file so that `warnings` passes over its frames, as over importlib's.

    Without that a module that warns with `stacklevel=2` would blame patchkit for importing it.
    """
    name = "<patchkit, among importlib._bootstrap>"
    function.__code__ = function.__code__.replace(co_filename=name)
    return function


class _StandIn:
    """Replaces a method of one loader, and reports what the method executes."""

    def __init__(
        self, name: str, method: Callable[..., Any], notifier: Notifier
    ) -> None:
        self.key = (name, notifier)
        self.method = method
        self.executed_by: int | None = None  # the thread that has done it

    def __eq__(self, other: object) -> bool:
        # Loaders compare their attributes: equal they were, equal they stay.
        return isinstance(other, _StandIn) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the method, so that a pickled loader is the one that was found."""
        return _itself, (self.method,)


def _itself(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is passed: pickle wants a function that makes the object."""
    return method


class _Execution(_StandIn):
    """Replaces `exec_module`."""

    @_among_importlib
    def __call__(self, module: ModuleType) -> None:
        name, notifier = self.key
        # A copy that somebody makes for himself, beside the module, is none of ours.
        is_beside = sys.modules.get(name, module) is not module
        if is_beside or not notifier.is_for(name) or id(module) in notifier.executing:
            self.method(module)  # nobody watches it, or a loader further out reports it
            return
        notifier.executing.add(id(module))
        try:
            try:
                if name in notifier.names:
                    notifier.watcher.importing(name)
                self.method(module)
                self.executed_by = get_ident()
            finally:
                notifier.executing.discard(id(module))
            # What it has put into `sys.modules` in place of itself, if anything.
            notifier.imported(name, sys.modules.get(name) or module)
        except PatchkitError as error:
            from patchkit.runtime.tracebacks import leave_out_own_frames  # noqa: PLC0415 - few fail

            leave_out_own_frames(error)
            raise


class _Code(_StandIn):
    """Replaces `get_code`: the code that `runpy` gets imports the module under its own name."""

    def __init__(self, loader: Any, name: str, notifier: Notifier) -> None:
        super().__init__(name, loader.get_code, notifier)
        self.loader = loader

    def __call__(self, fullname: str) -> CodeType | None:
        name, notifier = self.key
        code: CodeType | None = self.method(fullname)
        if code is None or not notifier.active or name not in notifier.names:
            return code
        if not _is_for_main(depth=1):
            return code
        try:
            return running_code(self.loader, name, code.co_filename)
        except TargetError as error:
            notifier.watcher.main_unreachable(name, str(error))
            return code


def _is_for_main(depth: int) -> bool:
    """Whether the caller at this depth is `runpy`, about to run a module as the main one."""
    frame: FrameType | None = sys._getframe(depth + 1)  # noqa: SLF001
    run_name = None
    while frame is not None and frame.f_globals.get("__name__") == "runpy":
        # `run_module` may have another name.
        run_name = frame.f_locals.get("run_name", "__main__")
        frame = frame.f_back
    return run_name in _NAMES_OF_MAIN


def _stand_in_of(loader: object) -> _StandIn | None:
    """Return what stands for `exec_module` of a loader; None for a loader that reports nothing."""
    method = getattr(loader, "exec_module", None)
    if isinstance(method, _StandIn):
        return method
    return None


def _reporting_loader(name: str, loader: Any, notifier: Notifier) -> Any:
    """Return a loader that reports to a notifier; the same where it does already, or never can."""
    stand_in = _stand_in_of(loader)
    if not hasattr(loader, "exec_module"):
        return loader
    if stand_in is not None and stand_in.key == (name, notifier):
        return loader
    twin = _twin(loader)
    twin.exec_module = _Execution(name, twin.exec_module, notifier)
    if hasattr(twin, "get_code"):
        twin.get_code = _Code(twin, name, notifier)
    return twin


def _twin(loader: Any) -> Any:
    """Copy a loader, as several modules may share one (a zipimporter)."""
    try:
        if isinstance(loader, type):
            attributes = {
                "__module__": loader.__module__,
                "__qualname__": loader.__qualname__,
            }
            return type(loader)(loader.__name__, (loader,), attributes)
        # A proxy passes on to the original what is set on its copy, or cannot be copied at all.
        if not hasattr(type(loader), "__getattr__"):
            twin = copy.copy(loader)
            is_of_kind = type(twin) is type(loader)
            if is_of_kind and vars(twin) is not vars(loader):
                return twin
    except Exception:  # noqa: BLE001, S110 - a stranger's class may refuse in any way
        pass
    return _Proxy(loader)


class _Proxy:
    """Stands for a loader that cannot be copied, or whose copy takes no attributes."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._loader.__class__

    def create_module(self, spec: Any) -> Any:
        module = self._loader.create_module(spec)
        spec.loader = self  # ddtrace's puts itself there again, for a namespace package
        return module

    def __getattr__(self, name: str) -> Any:
        # Not self._loader: where it is missing, as while this is copied, that would not end.
        return getattr(object.__getattribute__(self, "_loader"), name)


def _namespace_loader(name: str, spec: ModuleSpec, notifier: Notifier) -> Any:
    """Make the loader that importlib would make for a namespace package, but one that reports."""
    kind: Any = getattr(_bootstrap_external, "NamespaceLoader", None)
    if kind is None:  # Python 3.10
        kind = _bootstrap_external._NamespaceLoader  # noqa: SLF001
    loader = kind.__new__(kind)
    loader._path = spec.submodule_search_locations  # noqa: SLF001 - importlib does it so, too
    loader.exec_module = _Execution(name, _execute_namespace, notifier)
    return loader


def _execute_namespace(module: ModuleType) -> None:
    """Stand for `exec_module` of a namespace package, which has no code."""
    module.__file__ = None  # as importlib has it where it makes the loader itself

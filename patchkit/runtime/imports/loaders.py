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
    """What the imports of watched modules are reported to.

    An error that a method raises is raised by the import statement.
    """

    def importing(self, name: str) -> None:
        """Called just before a module executes.

        Args:
            name: The dotted name of the module.
        """

    def imported(self, name: str, module: ModuleType) -> None:
        """Called when a module has executed, unless `sys.modules` has another one of its name.

        Args:
            name: The dotted name of the module.
            module: What `sys.modules` holds for it, as it may have replaced itself.
        """

    def import_ended(self, name: str) -> None:
        """Called at the end of an import for which another thread waited while `imported` ran.

        Args:
            name: The dotted name of the module.
        """

    def main_unreachable(self, name: str, reason: str) -> None:
        """Called if a module runs as `__main__`, and cannot be imported under its own name instead.

        Args:
            name: The dotted name of the module.
            reason: Why it cannot, to be put after a colon.
        """


class Notifier(Record, frozen=False, eq=False):
    """Passes reports of a finder's loaders to its watcher; all these loaders share it.

    Args:
        watcher: What modules in `names` are reported to.
        names: The dotted names of the watched modules.
        own: Functions of patchkit that are called when a module has executed, by its name.
        active: Whether anything is reported.
        executing: The ids of the modules that execute now.
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
        """Report a module as executed at the end of its import, if its loader does not report.

        Args:
            name: The dotted name of the module.
        """
        self._report_end(name, self.watcher.imported)

    def ended(self, name: str) -> None:
        """Report the end of the import of a module, after its loader has reported its execution.

        Args:
            name: The dotted name of the module.
        """
        self._report_end(name, lambda name, _: self.watcher.import_ended(name))

    def _report_end(self, name: str, report: Callable[[str, ModuleType], None]) -> None:
        """Report a module unless its import has failed; if the report raises, it fails, too."""
        module = sys.modules.get(name)
        if module is None or not self.active:
            return
        try:
            report(name, module)
        except BaseException:
            sys.modules.pop(name, None)
            raise


def instrument(name: str, spec: ModuleSpec, notifier: Notifier) -> ModuleSpec:
    """Replace the loader of a spec by one that reports every execution of the module.

    A loader without `exec_module`, as of Python 3.3, stays as it is.

    Args:
        name: The dotted name of the module.
        spec: The module's spec.
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
    """Return the id of the thread that has executed a module and now reports it; None without one.

    Args:
        spec: The module's `__spec__`, which may be any object.
    """
    stand_in = _stand_in_of(getattr(spec, "loader", None))
    if stand_in is None:
        return None
    return stand_in.executed_by


def _among_importlib(function: Method) -> Method:
    """Give a function a file name with which `warnings` skips its frames, as it skips importlib's.

    Otherwise a module that warns its importer, with `stacklevel=2`, would name a line of patchkit.
    """
    name = "<patchkit, among importlib._bootstrap>"
    function.__code__ = function.__code__.replace(co_filename=name)
    return function


class _StandIn:
    """A callable that replaces a method of one loader; the subclasses report what it executes."""

    def __init__(
        self, name: str, method: Callable[..., Any], notifier: Notifier
    ) -> None:
        self.key = (name, notifier)
        self.method = method
        # The id of the thread that has called the method.
        self.executed_by: int | None = None

    def __eq__(self, other: object) -> bool:
        # Loaders are compared by their attributes, and equal loaders are to stay equal.
        return isinstance(other, _StandIn) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the replaced method in its place, so that a pickled loader does not report."""
        return _itself, (self.method,)


def _itself(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the argument: `__reduce__` must name a function that makes the object."""
    return method


class _Execution(_StandIn):
    """Replaces `exec_module`: reports before and after a module executes."""

    @_among_importlib
    def __call__(self, module: ModuleType) -> None:
        """Execute a module, and report that if it is watched.

        Args:
            module: The module, which importlib has created.
        """
        name, notifier = self.key
        # Code may execute a second copy for itself, without `sys.modules`; that is not patched.
        is_copy = sys.modules.get(name, module) is not module
        # It is executing already if this loader is inside of another one that reports.
        is_reported = id(module) in notifier.executing
        if is_copy or is_reported or not notifier.is_for(name):
            self.method(module)
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
            # The module may have put another object into `sys.modules` in place of itself.
            notifier.imported(name, sys.modules.get(name) or module)
        except PatchkitError as error:
            from patchkit.runtime.tracebacks import leave_out_own_frames  # noqa: PLC0415 - few fail

            leave_out_own_frames(error)
            raise


class _Code(_StandIn):
    """Replaces `get_code`: for `python -m`, it returns code that imports the module by its name.

    The module is then patched, and its main part runs in it; `supplied_modules` says more.
    """

    def __init__(self, loader: Any, name: str, notifier: Notifier) -> None:
        super().__init__(name, loader.get_code, notifier)
        self.loader = loader

    def __call__(self, fullname: str) -> CodeType | None:
        """Return the module's own code, or for `runpy` code that imports the module.

        Args:
            fullname: The dotted name of the module, as importlib passes it.
        """
        name, notifier = self.key
        code: CodeType | None = self.method(fullname)
        # Not watched any more: the module's own code is all that is needed.
        if code is None or not notifier.active or name not in notifier.names:
            return code
        if not _is_for_main(depth=1):  # depth 1: the caller of this method
            return code
        try:
            return running_code(self.loader, name, code.co_filename)
        except TargetError as error:
            notifier.watcher.main_unreachable(name, str(error))
            return code


def _is_for_main(depth: int) -> bool:
    """Whether the caller at this depth is `runpy`, about to run a module as `__main__`.

    The outermost of the frames of `runpy` has the name under which the module is to run.
    """
    # One more than `depth`, as this function has a frame itself.
    frame: FrameType | None = sys._getframe(depth + 1)  # noqa: SLF001
    run_name = None
    while frame is not None and frame.f_globals.get("__name__") == "runpy":
        # `runpy.run_module(…, run_name="other")` runs the module under another name; what
        # `python -m` calls has no such variable.
        run_name = frame.f_locals.get("run_name", "__main__")
        frame = frame.f_back
    return run_name in _NAMES_OF_MAIN


def _stand_in_of(loader: object) -> _StandIn | None:
    """Return what replaces `exec_module` of a loader; None for a loader that does not report."""
    method = getattr(loader, "exec_module", None)
    if isinstance(method, _StandIn):
        return method
    return None


def _reporting_loader(name: str, loader: Any, notifier: Notifier) -> Any:
    """Return a copy of a loader that reports; the loader itself if it does already, or cannot."""
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
    """Copy a loader, as several modules may share one, such as a zipimporter or a class.

    A class is derived from; what cannot be copied gets a proxy.
    """
    try:
        if isinstance(loader, type):
            attributes = {
                "__module__": loader.__module__,
                "__qualname__": loader.__qualname__,
            }
            return type(loader)(loader.__name__, (loader,), attributes)
        # A loader with `__getattr__` may be a proxy, whose copy sets attributes on the original.
        if not hasattr(type(loader), "__getattr__"):
            twin = copy.copy(loader)
            # A `__copy__` may return anything, such as an object that shares its attributes.
            is_of_kind = type(twin) is type(loader)
            if is_of_kind and vars(twin) is not vars(loader):
                return twin
    except Exception:  # noqa: BLE001, S110 - other code's class may refuse in any way
        pass
    return _Proxy(loader)


class _Proxy:
    """Stands for a loader that cannot be copied, or whose copy takes no attributes."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The loader's class, so that `isinstance` takes the proxy for such a loader."""
        return self._loader.__class__

    def create_module(self, spec: Any) -> Any:
        """Create the module with the loader, which must not replace this proxy in the spec."""
        module = self._loader.create_module(spec)
        spec.loader = self  # ddtrace's has put itself there, for a namespace package
        return module

    def __getattr__(self, name: str) -> Any:
        # `self._loader` would call this again, without end, while a copy has no attributes yet.
        return getattr(object.__getattribute__(self, "_loader"), name)


def _namespace_loader(name: str, spec: ModuleSpec, notifier: Notifier) -> Any:
    """Make the loader that importlib makes later for a namespace package, but one that reports."""
    kind: Any = getattr(_bootstrap_external, "NamespaceLoader", None)
    if kind is None:  # Python 3.10
        kind = _bootstrap_external._NamespaceLoader  # noqa: SLF001
    loader = kind.__new__(kind)
    loader._path = spec.submodule_search_locations  # noqa: SLF001 - as importlib does
    loader.exec_module = _Execution(name, _execute_namespace, notifier)
    return loader


def _execute_namespace(module: ModuleType) -> None:
    """Replace `exec_module` of a namespace package, which has no code to execute."""
    module.__file__ = None  # importlib sets this if a spec has no loader

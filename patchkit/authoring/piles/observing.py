"""Compares upstream before and after a pile is imported, and after each call of its functions.

A pile is a package that patches upstream. `observed` runs this file as a child process;
it imports nothing but Python's library, and loads the three modules beside it that it needs.
"""

import gc
import importlib
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from types import FrameType, FunctionType, ModuleType
from typing import Any


def main() -> None:
    """Read the request from standard input, and write the answer into the file that it names."""
    gc.disable()  # the process ends soon, and each look at upstream makes many objects
    request = json.load(sys.stdin)
    answer = _answer(request)
    # Not by pathlib: this file imports as little as it can.
    with open(request["answer"], "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(answer, file)


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Import the pile, call its functions, and return what each of these steps has changed.

    Args:
        request: The fields that `observed.observe` writes.
    """
    faults = dict(_import(request["first"]))
    answer: dict[str, Any] = {"faults": faults}
    for name in ("calls", "lines", "users"):
        answer[name] = {}
    for name in ("changes", "loaded"):
        answer[name] = []
    if request.get("needs") in faults:
        return answer
    # Names that may stand for modules or for what is in one: whatever is none is left out.
    list(_import(request.get("perhaps", ())))
    # Only now: modules that can be imported without stubs shall not find them.
    stub_finder = stub_modules.StubFinder(request["stubs"])
    sys.meta_path.append(stub_finder)
    faults |= dict(_import(request["stubs"]))
    # What the pile imported in another child, also what can be imported with stubs alone.
    list(_import(request.get("loaded", ())))
    upstream = _Upstream(request["packages"])
    pile = request.get("pile", ())
    calls = dict[str, dict[str, Any]]()
    run = _PileRun(pile, upstream, request.get("apart", ()))
    run.own = dict(snapshots.attributes(pile))
    for call in ["", *request.get("calls", ())]:  # '' stands for the import of the pile
        is_used = False
        with run:
            if call:
                step_faults, is_used = _call(call)
            else:
                step_faults = dict(_import(request["modules"]))
        faults |= step_faults
        upstream.end_step(call)
        own_now = dict(snapshots.attributes(pile))
        if call:
            own_changes = [
                ":".join(difference.attribute)
                for difference in snapshots.differences(run.own, own_now)
            ]
            calls[call] = {
                "fault": step_faults.get(call, ""),
                "is_used": is_used,
                "own_changes": own_changes,
            }
        run.own = own_now
    modules = set[str]()
    for change in upstream.changes:
        module = change["target"].partition(":")[0]
        modules.add(module)
    answer["faults"] = faults
    calls = run.calls | calls
    answer["changes"] = upstream.changes
    answer["calls"] = calls
    answer["lines"] = {module: sorted(lines) for module, lines in run.lines.items()}
    answer["users"] = _users(modules, request["packages"])
    answer["loaded"] = upstream.loaded()
    return answer


class _Upstream:
    """Compares upstream from step to step.

    Args:
        packages: The top-level packages that are compared.
    """

    def __init__(self, packages: Iterable[str]) -> None:
        self._packages = list(packages)
        self._at_first = {name for name, _ in snapshots.namespaces(packages)}
        self._before_step = dict(snapshots.attributes(packages))
        self._now = self._before_step
        self._makers: dict[tuple[str, str], str] = {}
        # What functions have changed that modules call as they are imported.
        self._of_calls: dict[tuple[str, str], dict[str, Any]] = {}
        self.changes: list[dict[str, Any]] = []
        """The fields of an `ObservedChange` each, in the order of the steps."""

    def note(self, maker: str) -> None:
        """Note that what has changed since the last look was changed by a module of the pile.

        Args:
            maker: The module.
        """
        before = self._now
        self._now = dict(snapshots.attributes(self._packages))
        for difference in snapshots.differences(before, self._now):
            attribute = difference.attribute
            of_call = self._of_calls.pop(attribute, None)
            if of_call is not None and of_call["maker"] != maker:
                self.changes.append(of_call)  # what is changed again now
            self._makers[attribute] = maker
            if ":" in maker:  # a function that was called as a module was imported
                self._of_calls[attribute] = self._described(difference, maker, maker)

    def end_step(self, step: str) -> None:
        """Describe what has changed in a step.

        Args:
            step: The function that was called; '' for the import of the pile.
        """
        self.note("")
        for difference in snapshots.differences(self._before_step, self._now):
            maker = self._makers.get(difference.attribute, "")
            maker_or_step = step
            if ":" in maker:
                maker_or_step = maker
            fields = self._described(difference, maker, maker_or_step)
            self.changes.append(fields)
        self._before_step = self._now
        self._makers.clear()
        self._of_calls.clear()

    def _described(self, difference: Any, maker: str, step: str) -> dict[str, Any]:
        """Return the fields of an `ObservedChange`."""
        copies = snapshots.copies(difference, self._now)
        fields: dict[str, Any] = changed_values.described(difference, copies)
        fields["maker"] = maker
        fields["step"] = step
        return fields

    def loaded(self) -> list[str]:
        """Return the modules that were imported by the pile: nothing was known of them before."""
        names = {name for name, _ in snapshots.namespaces(self._packages)}
        return sorted(names - self._at_first)


def _users(modules: Iterable[str], packages: Iterable[str]) -> dict[str, int]:
    """Count, for some modules, the modules of packages that have something of them.

    Args:
        modules: The names of the modules.
        packages: The names of the top-level packages.

    Returns:
        The number of other modules, by module.
    """
    counts = dict.fromkeys(modules, 0)
    for name, namespace in snapshots.namespaces(packages):
        used: set[str] = set()
        for value in list(namespace.values()):
            if issubclass(type(value), (FunctionType, type)):
                used.add(value.__module__)
            elif issubclass(type(value), ModuleType):
                used.add(value.__name__)
        for other in used - {name}:
            if other in counts:
                counts[other] += 1
    return counts


def _call(call: str) -> tuple[dict[str, str], bool]:
    """Call a function of the pile without arguments.

    Args:
        call: The function, as `module:name`.

    Returns:
        The error, by the call, if there was one; and whether it returned anything.
    """
    module, _, path = call.partition(":")
    try:
        function: Any = importlib.import_module(module)
        for name in path.split("."):
            function = getattr(function, name)
        result = function()
    except BaseException as error:  # noqa: BLE001 - the pile may raise anything
        error_name = type(error).__name__
        return {call: f"{error_name}: {error}"}, False
    return {}, result is not None


class _PileRun:
    """Records, as a context, which lines of a pile are run, and what its modules have at first.

    Args:
        packages: The top-level packages of the pile.
        upstream: What is compared before and after the import of some modules.
        apart: These modules.
    """

    def __init__(
        self, packages: Iterable[str], upstream: _Upstream, apart: Iterable[str]
    ) -> None:
        self._packages = set(packages)
        self._upstream = upstream
        self._apart = set(apart)
        self._importing: list[str] = []
        self._called: dict[FrameType, str] = {}
        self._raising: FrameType | None = None
        self.calls: dict[str, dict[str, Any]] = {}
        """What came of the functions that modules call as they are imported, as `module:name`.

        They come before those that are called afterwards.
        """
        self.lines: dict[str, set[int]] = {}
        """By module of the pile, the lines that were run."""
        self.own: dict[tuple[str, str], Any] = {}
        """The attributes of the pile's modules; a module is added at the end of its import."""

    def __enter__(self) -> None:
        sys.settrace(self._begin)
        threading.settrace(self._begin)  # of threads that begin from now on

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _begin(self, frame: FrameType, _event: str, _argument: object) -> Any:
        """Watch a frame if it runs code of the pile; Python calls this at the start of each."""
        module = str(frame.f_globals.get("__name__", ""))
        if frame.f_code.co_filename.startswith("<"):  # no file
            return None
        top = module.partition(".")[0]
        if top not in self._packages:
            return None
        if frame.f_code.co_name == "<module>":
            self._note(module)
            self._importing.append(module)
        elif self._is_called_at_import(frame, module):
            self._note(self._importing[-1])
            self._called[frame] = f"{module}:{frame.f_code.co_name}"
        return self._watch

    def _is_called_at_import(self, frame: FrameType, module: str) -> bool:
        """Return whether a module of the pile calls a function of another one as it is imported.

        That is a function which is called without arguments, as `--call` would.
        """
        caller = frame.f_back
        if caller is None or caller.f_code.co_name != "<module>":
            return False
        importing = str(caller.f_globals.get("__name__", ""))
        if importing not in self._apart or importing == module:
            return False
        code = frame.f_code
        function = frame.f_globals.get(code.co_name)
        if type(function) is not FunctionType or function.__code__ is not code:
            return False
        is_new = f"{module}:{code.co_name}" not in self.calls
        takes_none = not code.co_argcount and not code.co_kwonlyargcount
        return is_new and takes_none

    def _watch(self, frame: FrameType, event: str, argument: object) -> Any:
        """Record a line, or the end of a module's import."""
        module = str(frame.f_globals["__name__"])
        self.lines.setdefault(module, set()).add(frame.f_lineno)
        if event == "return" and frame in self._called:
            self._end_call(self._called.pop(frame), frame, argument)
        # An exception that the function itself catches is followed by another line.
        self._raising = frame if event == "exception" else None
        if event == "return" and frame.f_code.co_name == "<module>":
            self.own.update(snapshots.members(module, "", frame.f_globals))
            self._note(module)
            self._importing.pop()
        return self._watch

    def _end_call(self, call: str, frame: FrameType, returned: object) -> None:
        """Note what a function has changed that a module has called as it was imported."""
        self._upstream.note(call)
        fault = ""
        if self._raising is frame:
            fault = "it ended with an exception"
        self.calls[call] = {
            "fault": fault,
            "is_used": returned is not None,
            # What it changed in the pile's own modules is not looked at: it may be anything.
            "own_changes": [call],
        }

    def _note(self, module: str) -> None:
        """Compare upstream, at the start or the end of the import of a module that is apart."""
        if module not in self._apart:
            return
        maker = ""
        if self._importing:
            maker = self._importing[-1]
        self._upstream.note(maker)


def _import(modules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Import modules one after another, and yield those that fail, with their errors."""
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:  # noqa: BLE001 - the pile may raise anything
            error_name = type(error).__name__
            yield module, f"{error_name}: {error}"


def _load(name: str) -> ModuleType:
    """Load a file beside this one, whatever can be imported here."""
    folder = os.path.dirname(__file__)  # noqa: PTH120
    file = os.path.join(folder, f"{name}.py")  # noqa: PTH118
    spec = spec_from_file_location(f"_patchkit_{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


snapshots = _load("snapshots")
changed_values = _load("changed_values")
stub_modules = _load("stub_modules")


if __name__ == "__main__":
    # Python puts the folder of this file first: its modules would hide others of their names.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    main()

"""Prepares Provide, which serves a module that upstream lacks, BeforeImport and AfterImport.

The last two call a function of the body before or after the module is executed.
"""

import inspect
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from patchkit.core.rows.declaration import AfterImport, BeforeImport, Provide
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, unwind
from patchkit.runtime.changes.owners import MISSING, namespace
from patchkit.runtime.changes.site import Site
from patchkit.runtime.imports.half_imported import spec_of
from patchkit.runtime.imports.supplied_modules import loader_of

Fill = Callable[[ModuleType], object]
"""Sets the attributes of a provided module; may return a function that undoes other effects."""

_IMPORT_ATTRIBUTES = (
    "__name__",
    "__package__",
    "__loader__",
    "__spec__",
    "__file__",
    "__cached__",
    "__path__",
    "__builtins__",
)
"""Attributes that the import system sets on a module."""


def prepare(
    change: Provide | BeforeImport | AfterImport, context: Context
) -> "PreparedProvide | PreparedCall":
    """Find the object of the body that makes the change: a function to call, or module content.

    Args:
        change: The change.
        context: What it is prepared with.

    Returns:
        The change, to be applied.

    Raises:
        TargetError: The body's object is missing or of the wrong kind, or upstream has the module.
    """
    if isinstance(change, Provide):
        return _prepared_provide(change, context)
    function = context.object_named(change.call)
    if not callable(function):
        raise TargetError(
            f"{change.kind}({change.module!r}): {change.call!r} is {function!r}"
        )
    module = context.module if change.kind == "AfterImport" else None
    return PreparedCall(function, module)


@dataclass
class PreparedCall:
    """A BeforeImport or AfterImport: a function of the body, which may return its own undo.

    Args:
        function: The function.
        module: The argument for a function that takes one; None if there is no module yet.
        sites: Empty, since nobody knows what the function changes.
        left: What undo does not restore, in words.
    """

    function: Any
    module: ModuleType | None
    sites: tuple[Site, ...] = ()
    left: tuple[str, ...] = ()
    _result: object = None

    def apply(self) -> None:
        """Call the function, with the module if it takes one argument."""
        self._result = self.function(*_arguments(self.function, self.module))
        if not callable(self._result):
            name = getattr(self.function, "__name__", "a function")
            self.left = (f"what {name}() has done (it returned no undo)",)

    @property
    def returned_undo(self) -> bool:
        """Whether the function has returned an undo that was not called yet."""
        return callable(self._result)

    def undo(self) -> None:
        """Call the undo that the function returned, once."""
        returned = self._result
        self._result = None
        if callable(returned):
            returned()


def _arguments(function: Any, module: ModuleType | None) -> tuple[ModuleType, ...]:
    """Return the arguments for a function: the module if it requires exactly one, else nothing.

    `*args` and `**kwargs` are not required.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return ()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in variadic
    ]
    if module is None or len(required) != 1:
        return ()
    # The kinds are ordered: keyword-only parameters come after this one.
    if required[0].kind > inspect.Parameter.POSITIONAL_OR_KEYWORD:
        return ()
    return (module,)


@dataclass
class PreparedProvide:
    """A Provide: an empty module that importlib has created, and a function that fills it.

    Args:
        module: The module.
        patch: The name of the patch that provides it.
        body: The patch's body.
        fill: Fills the module.
        sites: Empty, since no attribute of upstream is changed.
    """

    module: ModuleType
    patch: str
    body: ModuleType
    fill: Fill
    sites: tuple[Site, ...] = ()
    _undos: list[Callable[[], Any]] = field(default_factory=list)

    def apply(self) -> None:
        """Fill the module, and note the patch and the body's file on it."""
        parent, child = _in_parent(self.module)
        former = namespace(parent).get(child, MISSING)
        self._undos.append(partial(self._forget, former))
        loader = loader_of(self.module)
        assert loader is not None  # else `prepare` would have raised
        loader.patch = self.patch
        file = getattr(self.body, "__file__", None)
        if file is not None:
            self.module.__file__ = file
            spec_of(self.module).origin = file
        result = self.fill(self.module)
        if callable(result):
            self._undos.append(result)

    def undo(self) -> None:
        """Undo what filling the module did, and remove the module from `sys.modules`."""
        errors = unwind(self._undos)
        if errors:
            raise errors[0]

    def _forget(self, former: Any) -> None:
        """Remove the module from `sys.modules` and from its package, if it is still there.

        Code that has imported it goes on using it. While importlib executes the module it stays in
        `sys.modules`, because importlib looks for it there afterwards.

        Args:
            former: The attribute of the package before; MISSING for none.
        """
        parent, child = _in_parent(self.module)
        if namespace(parent).get(child) is self.module:
            if former is MISSING:
                delattr(parent, child)
            else:
                setattr(parent, child, former)
        loader = loader_of(self.module)
        if loader is not None:
            loader.patch = ""
        is_executing = loader is not None and loader.is_executing
        name = self.module.__name__
        if sys.modules.get(name) is self.module and not is_executing:
            del sys.modules[name]


def _prepared_provide(change: Provide, context: Context) -> PreparedProvide:
    """Check that patchkit's loader made the module, and find what of the body fills it."""
    assert context.module is not None
    subject = f"Provide({change.module!r})"
    loader = loader_of(context.module)
    if loader is None:
        file = getattr(context.module, "__file__", None) or repr(context.module)
        raise TargetError(
            f"{subject}: upstream has this module already, found {file}; expected none. Let the "
            "row's requires end before that release"
        )
    if loader.patch:
        raise TargetError(
            f"{subject}: patch {loader.patch} provides this module already; "
            "expected one patch that does"
        )
    value = context.object_named(change.by)
    fill = _filler(value, context.body)
    if fill is None:
        raise TargetError(
            f"{subject}: {change.by} of body {context.body.__name__} is {value!r},"
            " expected a list of names, a module, a class, or a function that takes the module"
        )
    return PreparedProvide(context.module, context.patch, context.body, fill)


def _in_parent(module: ModuleType) -> tuple[Any, str]:
    """Return the package of a module, None if it is not loaded, and the module's name there."""
    parent, _, child = module.__name__.rpartition(".")
    return sys.modules.get(parent), child


def _filler(value: object, body: ModuleType) -> Fill | None:
    """Return a function that fills a module from an object of the body.

    Args:
        value: A list of names of the body, a module, a class whose public attributes are taken, or
            a function that takes the module.
        body: The body.

    Returns:
        The function; None for any other object.
    """
    if isinstance(value, (list, tuple)) and all(
        isinstance(name, str) for name in value
    ):
        return _copy(body, _named_content(value, body))
    if isinstance(value, ModuleType):
        content = {
            name: member
            for name, member in vars(value).items()
            if name not in _IMPORT_ATTRIBUTES
        }
        return _copy(value, content)
    if isinstance(value, type):
        public_names = [name for name in dir(value) if name[0] != "_"]
        return _copy(value, {name: getattr(value, name) for name in public_names})
    if callable(value):
        return value
    return None


def _named_content(names: Collection[str], body: ModuleType) -> dict[str, Any]:
    """Return these attributes of the body, and `__all__`; raise a TargetError if one is missing."""
    missing = [name for name in names if not hasattr(body, name)]
    if missing:
        raise TargetError(
            f"body {body.__name__} has no {missing[0]!r}, which is to be provided"
        )
    content: dict[str, Any] = {"__all__": list(names)}
    for name in names:
        content[name] = getattr(body, name)
    return content


def _copy(source: object, content: dict[str, Any]) -> Fill:
    """Return a function that sets attributes, and the docstring of their source, on a module."""

    def fill(module: ModuleType) -> None:
        module.__doc__ = source.__doc__
        for name, value in content.items():
            setattr(module, name, value)

    return fill

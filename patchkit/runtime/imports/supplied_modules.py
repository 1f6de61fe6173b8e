"""Supplies the code of modules that a patch provides, and of modules that run as `__main__`.

For `python -m pkg.mod`, `runpy` asks the module's loader for code and executes it as `__main__`.
Such a copy would not be patched. So `runpy` gets other code, which imports `pkg.mod`, where it is
patched like any module, and then runs its `if __name__ == "__main__":` part in it.
"""

from __future__ import annotations

import importlib
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from patchkit.errors import ApplyError, TargetError
from patchkit.runtime.imports.half_imported import spec_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Serve = Callable[[str, ModuleType], bool]

_CALL = "__import__({module!r}, None, None, ['*']).run({name!r}, globals())"
"""Calls `run` of this module, and leaves no name behind. Without `['*']`, `__import__` would return
the package `patchkit`."""


class ProvidedLoader:
    """The loader of a module that a patch provides.

    Args:
        name: The dotted name of the module.
        serve: Fills the module of this name, and returns whether a patch has done so.
    """

    def __init__(self, name: str, serve: Serve) -> None:
        self.name = name
        self.patch = ""  # the name of the patch that has filled the module
        self.is_executing = False
        self._serve = serve

    def create_module(self, spec: ModuleSpec) -> None:
        """Let importlib create the module.

        Args:
            spec: The module's spec.
        """

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module.

        Args:
            module: The empty module.

        Raises:
            ModuleNotFoundError: No patch that provides the module applies here.
        """
        self.is_executing = True
        try:
            if not self._serve(self.name, module):
                raise _not_found(self.name)
        finally:
            self.is_executing = False


def loader_of(module: ModuleType) -> ProvidedLoader | None:
    """Return the loader of a provided module; None for any other module.

    Args:
        module: The module in `sys.modules`.
    """
    loader = getattr(spec_of(module), "loader", None)
    if isinstance(loader, ProvidedLoader):
        return loader
    return None


def is_served(module: ModuleType) -> bool:
    """Whether a patch has filled a module, and has not been undone.

    Args:
        module: The module in `sys.modules`.
    """
    loader = loader_of(module)
    return loader is not None and loader.patch != ""


def refuse_withdrawn(name: str, module: ModuleType) -> None:
    """Fail the import of a provided module if its patch was undone, as another change failed.

    Args:
        name: The dotted name of the module.
        module: The module in `sys.modules`.

    Raises:
        ModuleNotFoundError: The patch was undone.
    """
    if loader_of(module) is not None and not is_served(module):
        raise _not_found(name)


def _not_found(name: str) -> ModuleNotFoundError:
    """Make the error that Python raises for a module that is not found."""
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


def running_code(loader: Any, name: str, file: str) -> CodeType:
    """Make the code that `runpy` is to execute in place of a module's own.

    Args:
        loader: The module's loader.
        name: The dotted name of the module.
        file: The file that the code is to name.

    Returns:
        Code that imports the module and runs its main part in it.

    Raises:
        TargetError: The module has no source, or no main part.
    """
    _main_part(loader, name, file)  # only to raise its error early
    source = _CALL.format(module=__name__, name=name)
    return compile(source, file, "exec", dont_inherit=True)


def run(name: str, main_globals: dict[str, Any]) -> None:
    """Import a module and run its main part; called by the code of `running_code`.

    Args:
        name: The dotted name of the module.
        main_globals: The globals of the code that `runpy` executes; they get the module's names.
    """
    importlib.import_module(name)
    module = sys.modules[name]  # it may have replaced itself
    run_name = main_globals["__name__"]
    # `runpy` may execute the code in a module of `sys.modules`, such as `__main__`: this module
    # replaces that. (If there is none of the name, `sys` is compared, and is another one.)
    if vars(sys.modules.get(run_name, sys)) is main_globals:
        sys.modules[run_name] = module
    # `runpy.run_module` returns `main_globals` to its caller.
    for key, value in vars(module).items():
        main_globals.setdefault(key, value)
    if run_name == "__main__":
        code = _main_part(module.__loader__, name, str(module.__file__))
        exec(code, vars(module))  # noqa: S102 - it is the module's own


def _main_part(loader: Any, name: str, file: str) -> CodeType:
    """Compile the main part of a module.

    Raises:
        TargetError: The module has no source, or no main part.
    """
    try:
        source = loader.get_source(name)
        if source is None:
            raise TargetError("it has no source")
        tree = _main_tree(source)
        # A loader may transform the source, as pytest's does with asserts.
        source_to_code = getattr(loader, "source_to_code", None)
        if source_to_code is None:
            return compile(tree, file, "exec", dont_inherit=True)
        return cast("CodeType", source_to_code(tree, file))
    except TargetError:
        raise
    except Exception as error:  # other code's loader may raise anything
        raise TargetError(
            f"its source cannot be used: {type(error).__name__}: {error}"
        ) from error


def _main_tree(source: str) -> ast.Module:
    """Return the `if __name__ == "__main__":` blocks, as `if True:`, and `__future__` imports.

    Raises:
        TargetError: There is no such block, or it has an `else`.
    """
    import ast  # noqa: PLC0415 - only where a target's module is run as the main one

    def asks_for_main(test: ast.expr) -> bool:
        """Whether a condition is `__name__ == "__main__"`, in either order."""
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
            return False
        first = ast.unparse(test.left)
        second = ast.unparse(test.comparators[0])
        return {first, second} == {"__name__", "'__main__'"}

    tree = ast.parse(source)
    branches = [node for node in tree.body if isinstance(node, ast.If)]
    guards = [node for node in branches if asks_for_main(node.test)]
    if not guards:
        raise TargetError('it has no `if __name__ == "__main__":`')
    if any(guard.orelse for guard in guards):
        raise TargetError('its `if __name__ == "__main__":` has an `else`')
    for guard in guards:
        guard.test = ast.copy_location(ast.Constant(value=True), guard.test)
    # `__future__` imports decide how the blocks are compiled.
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    futures = [node for node in imports if node.module == "__future__"]
    return ast.Module(body=[*futures, *guards], type_ignores=[])


def unreachable(name: str, reason: str) -> ApplyError:
    """Return the error for a module that runs as `__main__` and cannot be patched there.

    Args:
        name: The dotted name of the module.
        reason: Why it cannot, to be put after a colon.
    """
    return ApplyError(
        f"{name} runs as __main__, where the patch does not reach it: {reason}. Expected it to be "
        f"imported under its own name: start it with `patchkit run -- python -m {name}`, by its "
        f"command (such as `vllm serve`), or with python -c 'import {name}; …'"
    )

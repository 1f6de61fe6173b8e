"""
Code of a module that is run by its name (`python -m pkg.mod`), which tells how far it has come.

`runpy` asks the module's loader for the code and executes that as `__main__`; the loader learns no
more of it. So it hands out code with two calls in it: one before the first statement, and one
after the definitions, just before the module begins to act as the main one.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

from patchkit.errors import TargetError

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence
    from types import FrameType, ModuleType

_CALL = "__import__({module!r}, None, None, ['*']).tell({moment!r}, globals())"
BEGINS, RAN = "begins", "ran"


def is_asked_by_runpy(depth: int) -> bool:
    """Whether the caller at this depth is `runpy`, or a debugger that uses it as runpy does."""
    return bool(sys._getframe(depth + 1).f_globals.get("__name__") == "runpy")  # noqa: SLF001


def tell(moment: str, names: dict[str, Any]) -> None:
    """
    Tell those who watch the module how far it has come; the code of a main module calls this.

    Args:
        moment: BEGINS or RAN.
        names: the module's globals.

    """
    code: Any = getattr(getattr(names.get("__spec__"), "loader", None), "get_code", None)
    while hasattr(code, "tell_of_main"):
        code.tell_of_main(moment, module_of(names))
        code = code.method


def module_of(names: dict[str, Any]) -> ModuleType | None:
    """Find the module with these globals; None where `runpy` has made none for them."""
    module = sys.modules.get(names.get("__name__", ""))
    return module if module is not None and vars(module) is names else None


def name_run() -> str | None:
    """Return the name by which the main module of this process was run, or None."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", None)


def has_come_to_act(name: str, module: ModuleType) -> bool:
    """
    Whether the main module, which nobody was told of, has all its definitions by now.

    Args:
        name: the name by which it was run.
        module: `sys.modules["__main__"]`.

    """
    import ast  # noqa: PLC0415

    frame = next((one for one in _all_frames() if _is_code_of(one, module)), None)
    if frame is None:
        return True
    try:
        body = ast.parse(module.__loader__.get_source(name)).body  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001 - a stranger's loader may raise anything, and knows no source
        return False
    place = _place_of_action(body)
    return place < len(body) and frame.f_lineno >= body[place].lineno


def _all_frames() -> Iterator[FrameType]:
    for frame in sys._current_frames().values():  # noqa: SLF001 - the main thread's, from any
        inner: FrameType | None = frame
        while inner is not None:
            yield inner
            inner = inner.f_back


def _is_code_of(frame: FrameType, module: ModuleType) -> bool:
    return frame.f_code.co_name == "<module>" and frame.f_globals is vars(module)


def own_name(module: Any) -> Any:
    """Return the name by which a module was run, for `__main__`; any other as it is."""
    if module not in ("__main__", "__mp_main__"):
        return module
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return getattr(spec, "name", None) or module


def telling_code(loader: Any, name: str, code: CodeType) -> CodeType:
    """
    Compile a module's source anew with the calls in it; all else keeps its lines.

    Args:
        loader: the module's own.
        name: the module.
        code: what the loader would hand out.

    Raises:
        TargetError: there is no source, or it cannot be compiled.

    """
    try:
        source = loader.get_source(name)
        if source is None:
            raise TargetError("it has no source")
        compiled = _compile(loader, _with_calls(source), code.co_filename)
    except TargetError:
        raise
    except Exception as error:  # a stranger's loader may raise anything
        raise TargetError(f"its source cannot be used: {type(error).__name__}: {error}") from error
    if not isinstance(compiled, CodeType):
        raise TargetError(f"its loader made {type(compiled).__name__} of its source")
    return compiled


def _compile(loader: Any, tree: ast.Module, file: str) -> Any:
    make = getattr(loader, "source_to_code", None)  # it may transform what it compiles
    return compile(tree, file, "exec", dont_inherit=True) if make is None else make(tree, file)


def _with_calls(source: str) -> ast.Module:
    import ast  # noqa: PLC0415 - only where a target's module is run as the main one

    tree = ast.parse(source)
    places = (_place_of_action(tree.body), RAN), (_place_of_beginning(tree.body), BEGINS)
    for place, moment in places:  # the later first
        tree.body.insert(place, _call(moment, _line(tree.body, place)))
    return tree


def _call(moment: str, line: int) -> ast.stmt:
    import ast  # noqa: PLC0415

    statement = ast.parse(_CALL.format(module=__name__, moment=moment)).body[0]
    for node in ast.walk(statement):
        if isinstance(node, (ast.expr, ast.stmt)):
            ast.copy_location(node, ast.Pass(lineno=line, end_lineno=line, col_offset=0))
    return statement


def _line(body: Sequence[ast.stmt], place: int) -> int:
    if place < len(body):
        return body[place].lineno
    return (body[-1].end_lineno or body[-1].lineno) if body else 1


def _place_of_beginning(body: Sequence[ast.stmt]) -> int:
    """After the docstring and the imports from `__future__`, which come first."""
    import ast  # noqa: PLC0415

    place = 0
    for statement in body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not ((place == 0 and is_text) or is_future):
            break
        place += 1
    return place


def _place_of_action(body: Sequence[ast.stmt]) -> int:
    """
    Before the statement with which a main module begins to act.

    That is the first `if __name__ == "__main__":` with no definition after it, or else the last
    one; where there is none, the first bare call (`sys.exit(main())`) after the last definition.
    """
    import ast  # noqa: PLC0415

    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = [at for at, one in enumerate(body) if isinstance(one, definitions)]
    bound = [at for at, one in enumerate(body) if isinstance(one, (ast.Import, ast.ImportFrom))]
    guards = [at for at, one in enumerate(body) if _is_guard(one)]
    if guards:
        after = [at for at in guards if at > max(defined, default=-1)]
        return after[0] if after else guards[-1]
    start = max([*defined, *bound], default=_place_of_beginning(body) - 1) + 1
    acts = [at for at in range(start, len(body)) if _is_call(body[at])]
    return acts[0] if acts else len(body)


def _is_guard(statement: ast.stmt) -> bool:
    import ast  # noqa: PLC0415

    return isinstance(statement, ast.If) and any(map(_asks_for_main, ast.walk(statement.test)))


def _asks_for_main(node: ast.AST) -> bool:
    import ast  # noqa: PLC0415

    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq)):
        return False
    sides = {ast.unparse(node.left), ast.unparse(node.comparators[0])}
    return sides == {"__name__", "'__main__'"}


def _is_call(statement: ast.stmt) -> bool:
    import ast  # noqa: PLC0415

    if isinstance(statement, ast.Raise):
        return True
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)

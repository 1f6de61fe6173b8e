"""Reads what one file uses of some import packages (*upstream*), without running the file."""

import ast
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, Signature, dotted
from patchkit.analysis.uses import texts
from patchkit.analysis.uses.assignments import MODULE_SCOPE, Assignment, dotted_path
from patchkit.analysis.uses.expressions import (
    call_of,
    import_in,
    imports_patchkit,
    is_super_call,
    makes_annotations_lazy,
    member,
    registered_in,
    target_of,
)
from patchkit.analysis.uses.members import members_of
from patchkit.analysis.uses.put_functions import functions_put
from patchkit.analysis.uses.scopes import (
    Guarding,
    Guards,
    guard_of_try,
    imported,
    imported_by_try,
    names_of,
)
from patchkit.analysis.uses.statements import (
    assigned_texts,
    block_nodes,
    imported_modules,
    text_of,
)
from patchkit.analysis.uses.use import UNGUARDED, Call, Use, UseGuard
from patchkit.core.rows.target import Target

_FUNCTIONS = (*DEFS, ast.Lambda)


class FileReader:
    """Walks through one file, statement by statement, and collects what it uses of upstream.

    `uses` are its uses, `scopes` the number of the function that each runs in, `assignments` what
    it assigns in upstream, and `attributes` the names of attributes that it reads of anything else.
    As in `ast.NodeVisitor`, the method for a kind of node is named after its class, here with one
    underscore.

    Args:
        tree: The file.
        roots: The names of the import packages.
    """

    def __init__(self, tree: ModuleTree, roots: frozenset[str]) -> None:
        self._tree = tree
        self._roots = roots
        nodes = block_nodes(tree.tree)
        self._guards = Guards(nodes, roots)
        self._names = names_of(tree)
        self._modules = imported_modules(nodes)
        self._texts = assigned_texts(nodes)
        self._put = functions_put(nodes)
        # Rows name their targets in texts, each for releases of its own: `check` looks these up.
        self._has_rows = any(imports_patchkit(node) for node in nodes)
        # Whether Python evaluates no annotations in this file.
        self._is_lazy = any(makes_annotations_lazy(node) for node in nodes)
        self._guard = UNGUARDED  # of what is read now
        self._in_function = False
        self._scope = MODULE_SCOPE
        self._last_scope = MODULE_SCOPE
        self._end = 0  # the last line of the statement that is read now
        # The base of the class that is read now; empty if it has several, or none of upstream's.
        self._bases: list[Target] = []
        self.uses: list[Use] = []
        self.scopes: list[int] = []
        self.assignments: list[Assignment] = []
        self.attributes: set[str] = set()

    def read(self) -> None:
        """Read the whole file."""
        self._block(self._tree.tree.body)

    def _is_upstream(self, target: Target) -> bool:
        return target.module.partition(".")[0] in self._roots

    def _use(
        self,
        node: ast.AST,
        target: Target,
        how: str,
        *,
        call: Call | None = None,
        ours: Signature | None = None,
    ) -> None:
        """Add a use of a target at a node, unless the target is not upstream's."""
        if not self._is_upstream(target):
            return
        use = Use(
            target,
            how,
            path=self._tree.path,
            line=getattr(node, "lineno", 0),
            guard=self._guard,
            at_import=not self._in_function,
            call=call,
            ours=ours,
        )
        self.uses.append(use)
        self.scopes.append(self._scope)

    def _assignment(self, node: ast.AST, target: Target) -> None:
        """Add an assignment to a target at a node, which is a use of the target, too."""
        self._use(node, target, "set", ours=self._put.get(id(node)))
        self._assigned(dotted_path(target))

    def _assigned(self, name: str) -> None:
        self.assignments.append(Assignment(name, self._end, self._scope))

    # --- under which conditions a part of the file runs

    def _block(self, body: Sequence[ast.stmt]) -> None:
        """Read statements; those after `if not hasattr(…): return` are guarded."""
        with self._state():
            for statement in body:
                self._end = statement.end_lineno or statement.lineno
                # A statement that is nested too deep for Python's stack is left out.
                with contextlib.suppress(RecursionError):
                    self._visit(statement)
                if self._guards.guards_after(
                    statement, at_import=not self._in_function
                ):
                    self._guard = UseGuard(guarded=True)

    @contextlib.contextmanager
    def _state(
        self, guard: UseGuard = UNGUARDED, *, called: bool = False
    ) -> Iterator[None]:
        """Set the state for the time of a block, and restore it afterwards, `_bases` included.

        Args:
            guard: How the block is guarded; inside of a guarded block it is in any case.
            called: Whether it runs only when a function is called; inside of one, in any case.
        """
        outer = (self._guard, self._in_function, self._scope, self._bases)
        self._guard = self._guard.with_inner(guard)
        self._in_function = self._in_function or called
        if called:
            self._last_scope += 1
            self._scope = self._last_scope
        try:
            yield
        finally:
            self._guard, self._in_function, self._scope, self._bases = outer

    def _visit(self, node: ast.AST) -> None:
        """Read a node by the method that is named after its class, or else its children."""
        read = getattr(self, f"_{type(node).__name__}", self._children)
        read(node)

    def _children(self, node: ast.AST) -> None:
        """Read the parts of a node.

        The body of a function is read as one that runs later, and annotations only where Python
        evaluates them.
        """
        # Python evaluates no annotation of a local variable.
        is_local = self._in_function and isinstance(node, ast.AnnAssign)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns") and (self._is_lazy or is_local):
                continue
            parts = [value]
            if isinstance(value, list):
                parts = value
            if name == "body" and isinstance(node, _FUNCTIONS):
                with self._state(called=True):
                    self._parts(parts)
            else:
                self._parts(parts)

    def _parts(self, parts: Sequence[Any]) -> None:
        """Read the value of one field of a node: a block of statements, or other nodes."""
        if parts and isinstance(parts[0], ast.stmt):
            self._block(parts)
            return
        for part in parts:
            if isinstance(part, ast.AST):
                self._visit(part)

    def _Try(self, node: ast.Try) -> None:  # noqa: N802 - ast's name
        """Read a `try`: its body is guarded if it catches the error of an absence.

        So are its handlers, as they run only in releases that lack a name; the rest is not.
        """
        failing = imported_by_try(node, self._tree, self._roots)
        guard = guard_of_try(node, at_import=not self._in_function)
        with self._state(guard):
            self._block(node.body)
        with self._state(UseGuard(guard.guarded, fallback_of=failing)):
            for handler in node.handlers:
                self._visit(handler)
        self._block(node.orelse)
        self._block(node.finalbody)

    _TryStar = _Try

    def _guarding(self, node: Guarding) -> None:
        """Read a node whose parts are guarded if its condition is a test for something.

        That is a test whether a name exists in upstream, or of the version; see `Guards`.
        """
        with self._state(UseGuard(self._guards.guards_inside(node))):
            self._children(node)

    _With = _AsyncWith = _If = _IfExp = _Assert = _While = _Match = _BoolOp = _guarding

    def _ClassDef(self, node: ast.ClassDef) -> None:  # noqa: N802 - ast's name
        """Read a class: its bases and what it overrides of them are uses."""
        bases = []
        for base in node.bases:
            target = self._target_of(base)
            if target is None:
                self._visit(base)
            else:
                self._use(base, target, "base")
                bases.append(target)
        # Decorators and keywords, such as `metaclass=…`, stand outside of the class: there,
        # `super()` means the class around.
        for outside in (*node.decorator_list, *node.keywords):
            self._visit(outside)
        with self._state():
            # With one base, `super().method` is its method; with several, it may be any base's.
            self._bases = bases if len(node.bases) == 1 else []
            self._overrides(node, bases)
            self._block(node.body)

    def _overrides(self, node: ast.ClassDef, bases: Sequence[Target]) -> None:
        """Add a use for each member of a class, which may override one of its bases."""
        for name, statement, signature in members_of(node):
            for base in bases:
                self._use(statement, member(base, name), "override", ours=signature)

    # --- what is used

    def _Import(self, node: ast.Import | ast.ImportFrom) -> None:  # noqa: N802 - ast's name
        for name in imported(node, self._tree):
            self._use(node, name.imported, "import")

    _ImportFrom = _Import

    def _Attribute(self, node: ast.Attribute) -> None:  # noqa: N802 - ast's name
        """Read `up.x` and `del up.x` as uses, and `up.x = …` as an assignment."""
        target = self._target_of(node)
        if target is None:
            if isinstance(node.ctx, ast.Load) and not is_super_call(node.value):
                self.attributes.add(node.attr)
            self._children(node)
        elif not isinstance(node.ctx, ast.Store):
            self._use(node, target, "attribute")
            self._parts([import_in(node)])
        else:
            self._assignment(node, target)
            self._visit(node.value)  # `up` itself is used all the same

    def _Subscript(self, node: ast.Subscript) -> None:  # noqa: N802 - ast's name
        """Read `sys.modules["up.a"] = …`, or `[NAME]` of a text, as the assignment of a module."""
        if isinstance(node.ctx, ast.Store) and dotted(node.value) == "sys.modules":
            module = text_of(node.slice) or self._texts.get(dotted(node.slice), "")
            # Tests replace a whole package, `up`, by a dummy, which does not count.
            if "." in module:
                self._assigned(f"{module}:")
        self._children(node)

    def _Call(self, node: ast.Call) -> None:  # noqa: N802 - ast's name
        """Read a call: of an upstream name, a method of `super()`, or anything else."""
        target = self._target_of(node.func)
        if target is not None:
            self._use(node, target, "call", call=call_of(node))
            self._parts([import_in(node.func)])
        elif isinstance(node.func, ast.Attribute) and is_super_call(node.func.value):
            self._method_of_super(node, node.func)
        else:
            self._visit(node.func)
        self._use_by_name(node)
        self._registration(node)
        for argument in (*node.args, *node.keywords):
            self._visit(argument)

    def _registration(self, node: ast.Call) -> None:
        """Read `up.E.register("X", value)` as an assignment of `up.E.X`."""
        registered = registered_in(node)
        owner = self._target_of(registered[0]) if registered else None
        if registered and owner and owner.qualname:
            self._assigned(f"{dotted_path(owner)}.{registered[1]}")

    def _method_of_super(self, node: ast.Call, method: ast.Attribute) -> None:
        """Read `super().method(…)` as a call of the base's method.

        `super(…)` with arguments is left out, as it may mean another class.
        """
        has_arguments = isinstance(method.value, ast.Call) and method.value.args
        if has_arguments:
            return
        call = call_of(node)._replace(bound=True)
        for base in self._bases:
            self._use(node, member(base, method.attr), "call", call=call)

    def _use_by_name(self, node: ast.Call) -> None:
        """Read calls such as `import_module("up.a")`, `getattr(up, "x")` and `setattr`."""
        function = dotted(node.func).rpartition(".")[2]
        if function in texts.IMPORTS:
            self._import_by_name(node, guarded=texts.IMPORTS[function])
        elif texts.named_in_call(node) is None:
            self._attribute_by_name(node, function)
        self._named_in_call(node)

    def _named_in_call(self, node: ast.Call) -> None:
        """Read `mock.patch("up.a.f")`, `patch.object(up.C, "f")` and the like."""
        named = texts.named_in_call(node)
        if named is None or self._has_rows:
            return
        target = named.target
        if named.owner is not None:
            owner = self._target_of(named.owner)
            if owner is None:
                return
            target = member(owner, target.qualname)
        with self._state(UseGuard(named.guarded), called=True):
            self._use(node, target, "attribute")

    def _Constant(self, node: ast.Constant) -> None:  # noqa: N802 - ast's name
        """Read `"up.a:C"` as a use that comes later, when somebody imports what it names."""
        target = texts.object_named(text_of(node), self._roots)
        if target is not None and not self._has_rows:
            with self._state(called=True):
                self._use(node, target, "attribute")

    def _JoinedStr(self, node: ast.JoinedStr) -> None:  # noqa: N802 - ast's name
        """Read the expressions in an f-string; its texts are no names as a whole."""
        self._parts(
            [part for part in node.values if not isinstance(part, ast.Constant)]
        )

    def _import_by_name(self, node: ast.Call, *, guarded: bool) -> None:
        """Read `import_module("up.a")` or `find_spec("up.a")`, if the name is a literal."""
        if not node.args:
            return
        module = text_of(node.args[0])
        # Only an absolute name: `text_of` returns "" for what is no literal, and `.a` is relative.
        if all(part.isidentifier() for part in module.split(".")):
            with self._state(UseGuard(guarded)):
                self._use(node, Target(module), "import")

    def _attribute_by_name(self, node: ast.Call, function: str) -> None:
        """Read `hasattr(up, "x")`, `getattr`, `setattr` and the like, if the name is a literal."""
        if len(node.args) < 2:
            return
        owner = self._target_of(node.args[0])
        name = text_of(node.args[1])
        if owner is None or not name.isidentifier():
            return
        target = member(owner, name)
        if function == "setattr":
            self._assignment(node, target)
        elif function in texts.ATTRIBUTE_TESTS:
            # `hasattr` handles a missing attribute, and so does `getattr` with a default.
            is_handled = len(node.args) >= texts.ATTRIBUTE_TESTS[function]
            with self._state(UseGuard(is_handled)):
                self._use(node, target, "attribute")
        else:  # such as `extend_enum(up.E, "X", 1)`
            self._assigned(dotted_path(target))

    def _target_of(self, node: ast.AST) -> Target | None:
        """Return what a name or `a.b.c` stands for; None if that is not upstream's."""
        target = target_of(node, self._names, self._modules)
        if target is None or not self._is_upstream(target):
            return None
        return target

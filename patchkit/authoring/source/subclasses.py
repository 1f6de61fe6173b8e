"""Judges whether the members of a subclass can be written into the class that it derives from."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.source.definitions import name_of
from patchkit.authoring.source.global_names import (
    bound_names,
    names_at_import,
    private_name,
)
from patchkit.errors import ScaffoldError

_MADE_OTHERWISE = ("NamedTuple", "Protocol")
"""Bases that make a class otherwise than what derives from it."""
_TESTS = ("isinstance", "issubclass")


@dataclass(frozen=True)
class Subclass:
    """A class of a body, and the class of upstream that it derives from and stands in for.

    Args:
        node: The class of the body.
        upstream: The class of upstream.
        originals: The names in the body that stand for the class of upstream.
        is_lazy: Whether annotations of upstream's module are not evaluated.
    """

    node: ast.ClassDef
    upstream: ast.ClassDef
    originals: Collection[str]
    is_lazy: bool

    @cached_property
    def members(self) -> list[ast.stmt]:
        """The statements of its body that do something."""
        return [member for member in self.node.body if not does_nothing(member)]

    @cached_property
    def overridden(self) -> set[str]:
        """The names that its body binds."""
        return set().union(*map(bound_names, self.members))

    @cached_property
    def own_names(self) -> set[str]:
        """The names that the body of upstream's class binds."""
        return set().union(*map(bound_names, self.upstream.body))

    def refuse_unmergeable(self) -> None:
        """Refuse a class whose members would do something else in upstream's class.

        Raises:
            ScaffoldError: The reason.
        """
        for reason in self._reasons():
            raise ScaffoldError(f"{reason}; merge the class by hand")

    def _reasons(self) -> Iterator[str]:
        """Say what keeps the class from being merged, each in a few words."""
        yield from self._faults_of_header()
        yield from self._faults_of_fields()
        yield from self._faults_of_names()
        for member in self.members:
            if not name_of(member):
                first_line = ast.unparse(member).partition("\n")[0]
                yield f"its class has a statement that names no single member, {first_line!r}"
            if isinstance(member, DEFS):
                yield from self._faults_of_method(member)

    def _faults_of_header(self) -> Iterator[str]:
        """Say which bases, keywords and decorators would be lost, or mean something else."""
        if len(self.node.bases) > 1 or self.node.keywords:
            yield "its class has bases or keywords beside upstream's class"
        for base in self.upstream.bases:
            last = dotted(base).rpartition(".")[2]
            if last in _MADE_OTHERWISE:
                yield f"upstream's class is a {last}, which a subclass is not"
        if self.node.decorator_list and not self._is_decorated_alike:
            yield "its class has decorators that upstream's class lacks"

    @property
    def _is_decorated_alike(self) -> bool:
        """Whether both classes have the same decorators, so that either is made alike."""
        ours = [ast.dump(decorator) for decorator in self.node.decorator_list]
        theirs = [ast.dump(decorator) for decorator in self.upstream.decorator_list]
        return ours == theirs

    def _faults_of_fields(self) -> Iterator[str]:
        """Say what a decorator, or `__slots__`, would make of members in upstream's class."""
        if "__slots__" in self.overridden:
            yield "its class has __slots__"
        if self._has_slots and self._sets_attributes:
            yield "its methods set attributes, for which the __slots__ of upstream's have no room"
        if self._is_decorated_alike:
            return
        fields = _annotated(self.upstream.body)
        new_fields = _annotated(self.members)
        overridden_fields = fields & self.overridden
        for name in sorted(new_fields | overridden_fields):
            yield f"{name} would be a field, which the decorator of upstream's class makes"
        if "__post_init__" in self.overridden - self.own_names:
            yield "__post_init__ would be called, which upstream's __init__ does not"

    @property
    def _has_slots(self) -> bool:
        """Whether upstream's class has `__slots__`, by itself or by its dataclass decorator."""
        if "__slots__" in self.own_names:
            return True
        decorators = " ".join(map(ast.unparse, self.upstream.decorator_list))
        return "slots=True" in decorators

    @property
    def _sets_attributes(self) -> bool:
        """Whether a member of the body's class sets an attribute of anything."""
        for member in self.members:
            for node in ast.walk(member):
                is_set = isinstance(getattr(node, "ctx", None), ast.Store)
                if isinstance(node, ast.Attribute) and is_set:
                    return True
        return False

    def _faults_of_names(self) -> Iterator[str]:
        """Say which names mean one thing in the one class and another in the other."""
        private = private_name(self.node)
        if private:
            yield f"its class uses {private}, which is private to it"
        read = set().union(*map(self._read_by, self.members))
        kept_names = self.own_names - self.overridden
        for name in sorted(read & kept_names):
            yield f"{name} is a name of its module, and a member of upstream's class"
        for name in sorted(read & set(self.originals)):
            yield f"its members are made from upstream's {name}"
        for member in self.upstream.body:
            if bound_names(member) <= self.overridden:
                continue  # the member itself is replaced
            for name in sorted(self._read_by(member) & self.overridden):
                yield f"upstream's class reads {name} as it is made, in line {member.lineno}"

    def _read_by(self, member: ast.stmt) -> set[str]:
        """List what a member reads as its class is made."""
        return names_at_import(member, with_annotations=not self.is_lazy)

    def _faults_of_method(self, method: ast.AST) -> Iterator[str]:
        """Say where a method needs what it overrides, or upstream's class itself."""
        allowed = _in_tests_and_annotations(method)
        # First the attributes, such as `super().run`, which add their own parts to `allowed`: any
        # other `super` or name of upstream's class is a fault.
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute):
                fault = self._fault_of_attribute(node, allowed)
                if fault:
                    yield fault
        for node in ast.walk(method):
            if not isinstance(node, ast.Name) or node in allowed:
                continue
            if node.id == "super":
                yield "it uses super() otherwise than for a method, super().name"
            if node.id in self.originals:
                yield f"it uses {node.id} as upstream has it"

    def _fault_of_attribute(self, node: ast.Attribute, allowed: set[ast.AST]) -> str:
        """Return what is wrong with an attribute of a method.

        In the merged class, `Original.name` and `super().name` must mean what they mean now.

        Args:
            node: The attribute.
            allowed: The nodes that are in order; those that make up such an expression are added.

        Returns:
            The fault in a few words; '' where there is none.
        """
        value = node.value
        if isinstance(value, ast.Name) and value.id in self.originals:
            allowed.add(value)
            if node.attr in self.overridden:
                return f"it calls upstream's own {value.id}.{node.attr}"
        if not isinstance(value, ast.Call) or dotted(value.func) != "super":
            return ""
        allowed.update([value.func, *value.args])
        if value.args:
            first_argument = dotted(value.args[0])
            # `super(Original, self)` begins above upstream's class, and means the same in it.
            if first_argument in self.originals:
                return ""
        # A decorator may have given upstream's class an `__init__`, as `dataclass` does.
        is_decorated = bool(self.upstream.decorator_list)
        is_generated = is_decorated and node.attr.startswith("__")
        if node.attr in self.own_names or is_generated:
            return f"it calls super().{node.attr}, which upstream's class has itself"
        return ""


def _in_tests_and_annotations(method: ast.AST) -> set[ast.AST]:
    """List the nodes of a method that may name either class, as it makes no difference there.

    These are annotations, and the classes in `isinstance(x, C)`: the one derives from the other.
    """
    nodes: set[ast.AST] = set()
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and dotted(node.func) in _TESTS:
            nodes.update(node.args[1:])
        for field in ("annotation", "returns"):
            annotation = getattr(node, field, None)
            if annotation is not None:
                nodes.update(ast.walk(annotation))
    return nodes


def does_nothing(node: ast.stmt) -> bool:
    """Whether a statement has no effect: a docstring, another text alone, `pass`.

    Args:
        node: the statement.
    """
    if isinstance(node, ast.Pass):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _annotated(body: Collection[ast.stmt]) -> set[str]:
    """List the names that the statements of a class annotate: the fields of a dataclass."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.AnnAssign):
            names.add(dotted(node.target))
    return names

"""Reads the expressions in a pile that are versions: those of upstream, and those written down."""

import ast
import re
from typing import NamedTuple

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.authoring.source.name_scopes import NameScope
from patchkit.core.versions.requirements import canonical

_TEXTS = (
    "__version__",
    "version.__version__",
    "_version.__version__",
    "_version.version",
)
_TUPLES = ("__version_tuple__", "version.__version_tuple__", "_version.version_tuple")
PARSERS = frozenset({"LooseVersion", "Version", "parse", "parse_version"})
_LOOKUPS = ("importlib.metadata.version", "importlib_metadata.version")
_DISTRIBUTION = "pkg_resources.get_distribution"
_SAME_TEXT = ("base_version", "public")
_VERSION = re.compile(r"v?([0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?)")


class Upstream(NamedTuple):
    """The package that a pile patches.

    Args:
        release: The release that the pile is adopted for.
        project: The name of its distribution.
    """

    release: CheckedRelease
    project: str

    def covers(self, package: str) -> bool:
        """Whether a top-level package is of upstream.

        Args:
            package: Its import name.
        """
        return bool(self.release.covers([package]))


class VersionExpression(NamedTuple):
    """An expression that is a version: that of upstream, or one that is written down.

    Args:
        kind: `text`, `version` for a parsed one, or `tuple`.
        written: What is written down; '' for that of upstream.
        length: The number of parts of a tuple that was cut; 0 for a whole one.
    """

    kind: str
    written: str = ""
    length: int = 0


class VersionExpressions:
    """Reads the expressions of one module.

    Args:
        scope: What names mean there.
        module: The module.
        upstream: The package that the pile patches.
    """

    def __init__(
        self, scope: NameScope, module: ModuleTree, upstream: Upstream
    ) -> None:
        self._scope = scope
        self._upstream = upstream
        self._values = module.remember_with_file(
            "assigned values", lambda: _assigned_values(module.tree)
        )

    def read(self, node: ast.expr) -> VersionExpression | None:
        """Read an expression as a version; None if it is none.

        Args:
            node: The expression.

        Returns:
            The version.
        """
        known = self._named(node)
        if known is not None:
            return known
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = _VERSION.fullmatch(node.value.removesuffix("."))
            return VersionExpression("text", match[1]) if match else None
        if isinstance(node, ast.Tuple):
            numbers = [
                part.value for part in node.elts if isinstance(part, ast.Constant)
            ]
            is_written = bool(numbers) and len(numbers) == len(node.elts)
            if is_written and all(type(number) is int for number in numbers):
                return VersionExpression(
                    "tuple", ".".join(str(number) for number in numbers)
                )
            return None
        if isinstance(node, ast.Name):
            values = self._values.get(node.id, [])
            return self.read(values[0]) if len(values) == 1 else None
        if isinstance(node, ast.Call):
            return self._of_function(node)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node)
        if isinstance(node, ast.Subscript):
            return self._of_slice(node)
        return None

    def _named(self, node: ast.expr) -> VersionExpression | None:
        """Read a name or an attribute that is the version of upstream."""
        for name in self._scope.dotted_names_of(node):
            package, _, inner = name.partition(".")
            if inner in _TEXTS and self._upstream.covers(package):
                return VersionExpression("text")
            if inner in _TUPLES and self._upstream.covers(package):
                return VersionExpression("tuple")
        return None

    def _of_function(self, call: ast.Call) -> VersionExpression | None:
        """Read a call that looks the version up, or that parses one."""
        names = self._scope.dotted_names_of(call.func) or [dotted(call.func)]
        name = names[0]
        if len(call.args) != 1:
            return None
        argument = call.args[0]
        if name in _LOOKUPS:
            return VersionExpression("text") if self._is_project(argument) else None
        if name in ("tuple", "list"):
            return self._of_numbers(argument)
        if name.rpartition(".")[2] not in PARSERS:
            return None
        version = self.read(argument)
        if version is None or version.kind != "text":
            return None
        return version._replace(kind="version")

    def _of_attribute(self, node: ast.Attribute) -> VersionExpression | None:
        """Read a part of a version, such as `Version(…).release`."""
        owner = node.value
        if node.attr == "version" and isinstance(owner, ast.Call):
            names = self._scope.dotted_names_of(owner.func)
            if _DISTRIBUTION in names and self._is_project(*owner.args[:1]):
                return VersionExpression("text")
        version = self.read(owner)
        if version is None or version.kind != "version" or version.written:
            return None
        if node.attr in _SAME_TEXT:
            return VersionExpression("text")
        return VersionExpression("tuple") if node.attr == "release" else None

    def _of_slice(self, node: ast.Subscript) -> VersionExpression | None:
        """Read the first parts of a tuple, such as `vllm.__version_tuple__[:2]`."""
        version = self.read(node.value)
        length = _length_of(node.slice)
        if version is None or version.kind != "tuple" or not length:
            return None
        return version._replace(length=length)

    def _of_numbers(self, node: ast.expr) -> VersionExpression | None:
        """Read what `tuple` gets in `tuple(int(x) for x in vllm.__version__.split(".")[:2])`."""
        source = node
        if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
            source = node.generators[0].iter
        elif isinstance(node, ast.Call) and dotted(node.func) == "map":
            source = node.args[-1]
        length = 0
        if isinstance(source, ast.Subscript):
            length = _length_of(source.slice)
            source = source.value
        if not isinstance(source, ast.Call) or not isinstance(
            source.func, ast.Attribute
        ):
            return None
        version = self.read(source.func.value)
        if source.func.attr != "split" or version is None or version.kind != "text":
            return None
        return VersionExpression("tuple", version.written, length)

    def _is_project(self, *arguments: ast.expr) -> bool:
        """Whether an argument is the name of upstream's distribution."""
        for argument in arguments:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                name = canonical(argument.value)
                is_package = self._upstream.covers(argument.value)
                return is_package or name == canonical(self._upstream.project)
        return False


def _length_of(slice_node: ast.expr) -> int:
    """Return how many parts a slice such as `[:2]` leaves; 0 for any other."""
    if not isinstance(slice_node, ast.Slice) or slice_node.lower or slice_node.step:
        return 0
    upper = slice_node.upper
    if isinstance(upper, ast.Constant) and isinstance(upper.value, int):
        return max(upper.value, 0)
    return 0


def _assigned_values(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Return by name the values that statements of a module assign to it."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
    return values

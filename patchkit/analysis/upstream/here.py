"""What is installed here, by module and by target; a package is opened when one of it is asked."""

import sys
from importlib.machinery import PathFinder

from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target


class Here:
    """The source that an import would run, nothing of it imported; `path` is as `sys.path`."""

    def __init__(self, path: list[str] | None = None) -> None:
        self._path = path
        self._folders: dict[str, tuple[str, ...]] = {}
        self._resolvers: dict[str, Resolver] = {}

    def read(self, module: str) -> tuple[bytes, bool] | None:
        """Read a module's file; None where it has none, or none that lies in a folder."""
        top, *parts = module.split(".")
        if top not in self._folders:
            self._folders[top] = _folders_of(top, self._path)
        for folder in self._folders[top]:
            base = "/".join([folder, *parts])
            for file, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
                if not parts and not is_package:
                    continue
                try:
                    with open(file, "rb", buffering=0) as opened:  # noqa: PTH123 - half the time
                        return opened.read(), is_package
                except OSError:
                    continue
        return None

    def rest(self) -> None:
        """Let go of parsed modules."""
        self._resolvers.clear()

    def resolver(self, package: str) -> Resolver:
        """Open a package for the parser; raises UpstreamError where it cannot be read here."""
        found = self._resolvers.get(package)
        if found is None:
            from patchkit.analysis.upstream.reading.tree import open_installed  # noqa: PLC0415 - 100 ms
            from patchkit.analysis.upstream.resolving.resolve import Resolver  # noqa: PLC0415

            source = open_installed(package, self._path)
            found = self._resolvers[package] = Resolver(source, python=sys.version_info[:2])
        return found  # another thread may have let go of it meanwhile

    def facts(self, target: Target) -> Facts:
        """Look a target up with a parser; raises as `resolver` does."""
        from patchkit.analysis.upstream.facts import facts_of  # noqa: PLC0415 - costs 100 ms

        return facts_of(self.resolver(target.module.partition(".")[0]), target)


def _folders_of(package: str, path: list[str] | None) -> tuple[str, ...]:
    if path is None and (loaded := sys.modules.get(package)) is not None:
        return tuple(getattr(loaded, "__path__", ()))
    spec = PathFinder.find_spec(package, path)
    return tuple(spec.submodule_search_locations or ()) if spec else ()

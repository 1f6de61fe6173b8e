"""Answers a script's Python where packages lie, and which version they have: in the copy.

It is the `sitecustomize` of every Python that a script starts. It imports nothing but Python's
library, and runs on whatever Python that is.
"""

import importlib.machinery
import json
import os
import site
import sys
import sysconfig
from typing import Any

_FILES_ONLY = (
    "{}: found no {!r}, as the copy is not executed; expected what its files say"
)


class _FileLoader(importlib.machinery.SourceFileLoader):
    """Loads a module that has a file and a version, and runs none of its code.

    Args:
        name: The name of the module.
        path: Its file.
        version: The version of its package.
    """

    def __init__(self, name: str, path: str, version: str) -> None:
        super().__init__(name, path)
        self._version = version

    def exec_module(self, module: Any) -> None:
        """Give the module a `__version__` and nothing else; other names raise AttributeError.

        Scripts import a package to find its file and its version, and its code is not to run.
        """
        version = self._version

        def answer(name: str) -> str:
            if name == "__version__":
                return version
            raise AttributeError(_FILES_ONLY.format(module.__name__, name))

        module.__getattr__ = answer


class _CopyFinder:
    """Finds the modules of a package in the copy, before any that is installed.

    Args:
        package: The package.
        version: Its version.
        folder: The folder that it lies in.
    """

    def __init__(self, package: str, version: str, folder: str) -> None:
        self._package = package
        self._version = version
        self._folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a module of the package; None for any other module."""
        if name.partition(".")[0] != self._package:
            return None
        folders = path or [self._folder]
        spec = importlib.machinery.PathFinder.find_spec(name, folders, target)
        if spec is not None and spec.origin and spec.loader is not None:
            spec.loader = _FileLoader(name, spec.origin, self._version)
        return spec


def _install(answers: Any) -> None:
    """Make this Python answer as if the copy were its site-packages.

    That is for scripts that import the package to find its file, or that ask `site`, `sysconfig`
    or `sys.prefix` where packages lie.

    Args:
        answers: The package and its version, and the paths of the copy: see `StandIns.write`.
    """
    folder = answers["site"]
    finder: Any = _CopyFinder(answers["package"], answers["version"], folder)
    sys.meta_path.insert(0, finder)
    sys.prefix = answers["prefix"]
    sys.exec_prefix = answers["prefix"]
    original_paths = sysconfig.get_paths

    def get_site_packages(_: Any = None) -> Any:
        return [folder]

    def get_user_site() -> Any:
        return folder

    def get_paths(*args: Any, **kwargs: Any) -> Any:
        paths = dict(original_paths(*args, **kwargs))
        paths.update(purelib=folder, platlib=folder)
        return paths

    def get_path(name: str, *args: Any, **kwargs: Any) -> Any:
        return get_paths(*args, **kwargs)[name]

    site.getsitepackages = get_site_packages  # type: ignore[assignment]
    site.getusersitepackages = get_user_site
    sysconfig.get_paths = get_paths
    sysconfig.get_path = get_path


def _read_answers() -> Any:
    """Read the answers, which lie beside this file."""
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - whatever Python
    file = os.path.join(folder, "answers.json")  # noqa: PTH118
    with open(file, encoding="utf-8") as opened:  # noqa: PTH123
        return json.load(opened)


if __name__ == "sitecustomize":
    _install(_read_answers())

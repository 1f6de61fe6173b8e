"""Leads the paths that a script names into the copy: site-packages, checkouts, `/tmp`."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from patchkit.authoring.scripts.workspace import Workspace

_LETTERS = r"[^\s\"'`;|&<>()=,:]"
"""A letter of a path, also of one with wildcards or variables in it."""
_START = r"(?:(?<![\w.~}\])*?:/-])|(?<=\s-[a-zA-Z]))/"
"""The `/` that an absolute path begins with; also in `-d/usr/lib`."""
_ROOT = rf"(?:{_START}|~/|\$\w+/|\$\{{[^}}\s]*\}}/|\{{[^}}\s]*\}}/)"
"""How a path begins: with `/`, the home folder, a variable of a shell or of an f-string."""
_ENVIRONMENT = r"(?<![\w/.$~{-])\.?\w[\w.-]*/(?=lib(?:64)?/python)"
"""How a path in an environment below the working directory begins: `.venv/lib/python3.12`."""
_PACKAGES = r"(?:site|dist)-packages(?![\w-])"
_END = r"(?=[/\"'`\s;|&<>()]|$)"
_ENTERS = r"(?:\b(?:cd|pushd)\s+|\s-[dC]\s*|--directory[= ]\s*)[\"']?"
"""What stands before a folder that a command enters."""


class PathRules:
    """Finds the paths in a text that lead to a release, and puts those in the copy in their place.

    Args:
        workspace: The folder of the copy.
        copied: By absolute path, the files and folders that stand for it in the workspace.
    """

    def __init__(self, workspace: Workspace, copied: Mapping[str, Path]) -> None:
        self._workspace = workspace
        self._copied = copied
        package = re.escape(workspace.package)
        folder = rf"(?:{_LETTERS}*/)?{package}"
        # `_relocated` leads what these match to site-packages of the copy, but for `temporary` and
        # `copied`.
        rules = [
            # `/usr/lib/python3.12/site-packages`
            rf"(?P<installed>(?:{_ROOT}|{_ENVIRONMENT})(?:{_LETTERS}*?/)?{_PACKAGES})",
            # The `/src/vllm` of `/src/vllm/vllm/envs.py`
            rf"(?P<checkout>{_ROOT}{folder})(?=/{package}{_END})",
            # `cd /src/vllm`
            rf"(?P<enter>{_ENTERS})(?!{_LETTERS}*{_PACKAGES}){_ROOT}{folder}"
            rf"(?=[\"'\s;|&)]|$)",
            # `/tmp`, and what is below it
            rf"(?P<temporary>{_START}(?:var/)?tmp)(?P<below>(?:/{_LETTERS}*)?){_END}",
        ]
        # The longest first: of `/a` and `/a/b`, the text `/a/b/c` is to match the second.
        longest_first = sorted(copied, key=len, reverse=True)
        if longest_first:
            names = "|".join(re.escape(path[1:]) for path in longest_first)
            rules.insert(0, rf"(?P<copied>{_START}(?:{names})){_END}")
        self._pattern = re.compile("|".join(rules))

    def relocated(self, text: str) -> str:
        """Return a text whose paths lead into the copy.

        Args:
            text: A script, or a part of one.
        """
        return self._pattern.sub(self._relocated, text)

    def entered(self, path: str) -> Path:
        """Return what stands for a folder that a command enters.

        Args:
            path: The folder. That of the package itself leads into the copy only where a command
                enters it: elsewhere, such a path may be another file with the package's name.
        """
        command = self.relocated(f"cd {path}")
        return Path(command.removeprefix("cd "))

    def _relocated(self, match: re.Match[str]) -> str:
        """Return what stands for one path."""
        groups = match.groupdict()
        if groups.get("copied"):  # no such rule where nothing was copied
            return str(self._copied[groups["copied"]])
        if groups["enter"]:
            return f"{groups['enter']}{self._workspace.site}"
        if groups["temporary"]:
            return self._in_temporary_folder(groups["temporary"], groups["below"])
        return str(self._workspace.site)

    def _in_temporary_folder(self, folder: str, below: str) -> str:
        """Return what stands for a path in `/tmp`: itself if the user has such a file to read."""
        path = folder + below
        if below.strip("/") and os.path.lexists(path):
            return path
        return f"{self._workspace.temporary}{below}"

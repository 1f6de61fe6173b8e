"""Reads what a pile says of its patches: docstrings, and comments with headings of their own."""

import ast
import re
from collections.abc import Iterable, Mapping

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree

_LABEL = re.compile(
    r"(why|how|scope|related|future|sunset|remove|upstream|fragility)\b[^:\uff1a]*[:\uff1a]\s*"
)
_LINK = re.compile(r"https://\S+/(?:pull|issues)/\d+")
_RULE = re.compile(r"[-=~*]{3,}")
_FIELDS = {
    "why": ("why",),
    "upstream": ("related", "upstream"),
    "sunset": ("future", "remove", "sunset"),
}


def prose_of(
    module: ModuleTree, modules: Iterable[ModuleTree], origin: str
) -> dict[str, str]:
    """Write the texts of a row by what a pile says of a module.

    A catalogue in comments of any module counts more than the module's own docstring.

    Args:
        module: The module.
        modules: All modules of the pile.
        origin: What the pile is called in texts.

    Returns:
        The fields `why`, `upstream` and `sunset`.
    """
    labelled = _entry_of(module, modules)
    texts = {
        "why": f"Adopted from {origin}.",
        "upstream": f"none: adopted from {origin}",
        "sunset": "upstream has these changes",
    }
    docstring = ast.get_docstring(module.tree) or ""
    written = {
        field: _first_text(labelled, labels) for field, labels in _FIELDS.items()
    }
    written["why"] = written["why"] or docstring.partition("\n\n")[0]
    link = _LINK.search(" ".join([written["upstream"], *labelled.values()]))
    if link:
        written["upstream"] = link[0]
    for field, text in written.items():
        if text:
            texts[field] = " ".join(text.split())
    return texts


def _first_text(labelled: Mapping[str, str], labels: Iterable[str]) -> str:
    """Return the text of the first label that has one; '' for none."""
    for label in labels:
        if labelled.get(label):
            return labelled[label]
    return ""


def _entry_of(module: ModuleTree, modules: Iterable[ModuleTree]) -> Mapping[str, str]:
    """Find the entry of a module in a catalogue: the first that has a label."""
    folder, _, file = module.path.rpartition("/")
    file_name = re.compile(rf"\b{re.escape(file)}\b")
    for catalogue in modules:
        lines = catalogue.source.decode(errors="replace").split("\n")
        for number, line in enumerate(lines):
            is_heading = line.startswith("#") and file_name.search(line)
            if is_heading and folder.endswith(_folder(line, file)):
                labelled = _labelled(lines[number + 1 :])
                if labelled:
                    return labelled
    return {}


def _folder(line: str, file: str) -> str:
    """Name the folder with which a line names a file; '' where it names the file only."""
    return re.split(r"[\s`*:]", line.partition(file)[0])[-1].strip("/")


def _labelled(lines: Iterable[str]) -> Mapping[str, str]:
    """Read the comment after a heading, up to the next file, by its labels."""
    texts: dict[str, str] = {}
    label = ""
    for line in lines:
        text = line.lstrip("#").strip()
        if not line.startswith("#") or text.rstrip("*` :").endswith(".py"):
            break
        match = _LABEL.match(text.lower())
        if match:
            label = match[1] if match[1] not in texts else ""
            text = text[match.end() :]
        elif re.match(r"\d+\. ", text):
            label = ""
        if label and not _RULE.fullmatch(text):
            texts[label] = f"{texts.get(label, '')} {text}".strip()
    return texts

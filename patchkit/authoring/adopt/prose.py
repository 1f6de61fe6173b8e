"""What a pile says of its patches in words: docstrings, and comments with headings of their own."""

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


def prose_of(module: ModuleTree, others: Iterable[ModuleTree], origin: str) -> dict[str, str]:
    """Say why a module of a pile is there, its thread upstream, and when it may go, if told.

    A catalogue in comments of another module counts more than the module's own docstring.
    """
    file = module.path.rpartition("/")[2]
    named = re.compile(rf"\b{re.escape(file)}\b")
    labelled: Mapping[str, str] = {}
    for one in others:
        lines = one.source.decode(errors="replace").split("\n")
        starts = [at for at, line in enumerate(lines) if line[:1] == "#" and named.search(line)]
        for start in starts:
            if module.path.rpartition("/")[0].endswith(_folder(lines[start], file)):
                labelled = labelled or _labelled(lines[start + 1 :])
    found = {
        field: next((labelled[one] for one in labels if labelled.get(one)), "")
        for field, labels in _FIELDS.items()
    }
    found["why"] = found["why"] or (ast.get_docstring(module.tree) or "").partition("\n\n")[0]
    link = _LINK.search(" ".join([found["upstream"], *labelled.values()]))
    found["upstream"] = link[0] if link else found["upstream"]
    usual = {
        "why": f"Adopted from {origin}.",
        "upstream": f"none: adopted from {origin}",
        "sunset": "upstream has these changes",
    }
    return usual | {field: " ".join(text.split()) for field, text in found.items() if text}


def _folder(line: str, file: str) -> str:
    """Name the folder with which a line names a file; '' where it names the file only."""
    return re.split(r"[\s`*:]", line.partition(file)[0])[-1].strip("/")


def _labelled(lines: Iterable[str]) -> Mapping[str, str]:
    """Read the comment after a heading, up to the next file, by its labels."""
    found: dict[str, str] = {}
    label = ""
    for line in lines:
        text = line.lstrip("#").strip()
        if not line.startswith("#") or text.rstrip("*` :").endswith(".py"):
            break
        if match := _LABEL.match(text.lower()):
            label = match[1] if match[1] not in found else ""
            text = text[match.end() :]
        elif re.match(r"\d+\. ", text):
            label = ""
        if label and not _RULE.fullmatch(text):
            found[label] = f"{found.get(label, '')} {text}".strip()
    return found

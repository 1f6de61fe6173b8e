"""A simulation of `gh` for the issues of one label: the commands that docs/watch.md uses.

Its issues are a JSON file, `GH_STAND_IN`: `{"calls": [...], "open": number or null, "body": text}`.
It asks for what the real one asks for: a token, a repository, and a body that GitHub takes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

LARGEST_BODY = 65_536


def parser() -> argparse.ArgumentParser:
    """Know these options and no others."""
    top = argparse.ArgumentParser(prog="gh", allow_abbrev=False)
    nouns = top.add_subparsers(dest="noun", required=True)
    label = nouns.add_parser("label").add_subparsers(dest="verb", required=True)
    issue = nouns.add_parser("issue").add_subparsers(dest="verb", required=True)
    for group, verb, words in (
        (label, "create", ("name", "--description")),
        (issue, "list", ("--label", "--state", "--limit", "--json", "--jq")),
        (issue, "close", ("number", "--comment")),
        (issue, "edit", ("number", "--body-file")),
        (issue, "create", ("--title", "--label", "--body-file")),
    ):
        made = group.add_parser(verb, allow_abbrev=False)
        for word in words:
            made.add_argument(word)
        if group is label:
            made.add_argument("--force", action="store_true")
    return top


def main() -> int:
    """Do it and note it."""
    asked = vars(parser().parse_args())
    if not (os.environ.get("GH_TOKEN") and os.environ.get("GH_REPO")):
        sys.stderr.write(
            "gh: To use GitHub CLI in a GitHub Actions workflow, set GH_TOKEN\n"
        )
        return 4
    file = Path(os.environ["GH_STAND_IN"])
    issues = json.loads(file.read_text())
    body = asked.get("body_file") and Path(asked["body_file"]).read_text()
    if body and len(body) > LARGEST_BODY:
        sys.stderr.write("Body is too long (maximum is 65536 characters)\n")
        return 1
    issues["calls"].append(f"{asked['noun']} {asked['verb']}")
    if asked["verb"] == "list" and issues["open"]:
        sys.stdout.write(f"{issues['open']}\n")  # what --jq '.[].number' leaves of it
    elif asked["verb"] in {"close", "edit"} and asked["number"] != str(issues["open"]):
        return 1
    if asked["verb"] == "close":
        issues["open"] = None
    elif asked["noun"] == "issue" and asked["verb"] == "create":
        issues["open"], issues["title"] = 7, asked["title"]
    issues["body"] = body or issues["body"]
    file.write_text(json.dumps(issues))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Commands that fail or change nothing although the script goes on: which of them are losses."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.packages import world

from authoring.scripts.adopted_scripts import PATCH, adopted, here, kinds

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]

pytestmark = pytest.mark.processes

FITS_NOT = PATCH.replace("return a + LIMIT", "return a * LIMIT")
MAIL = f"""From 1234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001
From: A <a@b.c>
Date: Mon, 1 Sep 2025 00:00:00 +0000
Subject: [PATCH] Subtract

---
 up/lib.py | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

{PATCH}--
2.43.0
"""
FIRST = "sed -i 's/LIMIT = 1/LIMIT = 2/' up/lib.py\n"
GONE = "sed -i 's/a + L/a - L/' up/gone.py"
THERE = "sed -i 's/a + L/a - L/' up/lib.py"


@pytest.fixture
def diffs(here: Path) -> Path:
    """The folder of the scripts, with a diff that fits, one that does not, and a mail."""
    for name, text in (("fit", PATCH), ("unfit", FITS_NOT), ("mail", MAIL)):
        (here / f"{name}.patch").write_text(text)
    return here


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize(
    "edit",
    [
        "git apply fit.patch",
        "git apply --3way --index fit.patch",
        "git apply --check fit.patch && git apply -p1 fit.patch",
        "git apply --check unfit.patch || git apply fit.patch",
        "git am mail.patch",
        "git am --abort || true\ngit am -3 --keep-cr mail.patch",
        "git am < mail.patch",
        "git -C up apply -p2 ../fit.patch",
        "cd up && git -c user.name='A B' -C .. am -q mail.patch",
    ],
)
def test_git_applies_diffs_to_the_copy(
    diffs: Path, capsys: pytest.CaptureFixture[str], edit: str
) -> None:
    """Although the copy is no repository; a trial is no edit."""
    (diffs / "fix.sh").write_text(f"set -e\n{FIRST}{edit}\n")
    report = adopted(capsys, "fix.sh")
    assert kinds(report) == {"lib": ["Replace", "Edit"]}
    assert report["left"] == []


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        ("git apply unfit.patch || true", "git apply unfit.patch"),
        ("git am -3 unfit.patch || git am --abort", "git am -3 unfit.patch"),
        ("git apply gone.patch; true", "git apply gone.patch"),
        ("patch -p1 < unfit.patch || true", "patch -p1"),
        ("git apply --reject unfit.patch || true", "git apply --reject"),
        (f"{GONE} || true", None),
        (f"{GONE} 2>&1 || echo no", None),
        (f"{GONE} || true\n{THERE}", None),
        (f"if ! {GONE}; then\n  echo no\nfi\n{THERE}", None),
        (f"edit() {{\n {GONE} || :\n {THERE}\n}}\nedit", None),
        ("sed -i 's/no such/x/' up/lib.py || sed -i 's/a + L/a - L/' up/lib.py", "sed"),
        ("sed 's/no such/x/' up/lib.py > up/lib.new; mv up/lib.new up/lib.py", "sed"),
        ("awk '{gsub(/no such/, \"x\")} 1' up/lib.py > t; mv t up/lib.py", "awk"),
        (
            "sed 's/a/b/' up/gone.py > ${TMPDIR}/t && mv $TMPDIR/t up/lib.py || true",
            "sed",
        ),
        ("python3 gone_wrong.py || true", "python3 gone_wrong.py"),
    ],
)
def test_a_lost_edit_is_listed(
    diffs: Path, capsys: pytest.CaptureFixture[str], edit: str, code: str | None
) -> None:
    """What the script does in its place edits nothing, or it is no answer to it."""
    (diffs / "gone_wrong.py").write_text(
        "assert 'no such' in open('up/lib.py').read()\n"
    )
    (diffs / "fix.sh").write_text(f"{FIRST}{edit}\n")
    (left,) = adopted(capsys, "fix.sh", code=1)["left"]
    assert left["code"].startswith(code or "sed -i s/a + L/a - L/ up/gone.py")
    assert left["line"] >= 2
    assert "it ended with" in left["reason"] or "it changed nothing" in left["reason"]


@pytest.mark.parametrize(
    "edit",
    [
        f"{GONE} || {THERE}",
        f"{GONE} 2>&1 || {THERE}",
        f"{GONE} || false || {THERE}",
        f"{GONE} || {{\n  echo no\n  {THERE}\n}}",
        f"if ! {GONE}; then\n  {THERE}\nfi",
        f"if {GONE}\nthen\n  echo yes\nelse\n  {THERE}\nfi",
        f"if {GONE}; then :; elif {THERE}; then :; fi",
        f"edit() {{\n {GONE} || {THERE}\n}}\nedit",
        "patch -p1 -i unfit.patch || patch -p1 -i fit.patch",
        "git apply unfit.patch || git apply fit.patch",
        "python3 gone_wrong.py || " + THERE,
        f"sed -n '/no such/q1; /LIMIT/q3' up/lib.py || {THERE}",
        f"if ! perl -ne 'exit 1 if /LIMIT/' up/lib.py; then {THERE}; fi",
        f"grep -q 'no such' up/lib.py || {THERE}",
        f"python3 -c 'import up; up.no_such' || {THERE}",
        f"sed 's/a/b/' up/lib.py > /dev/null; sed '' up/lib.py; {THERE}",
    ],
)
def test_what_a_script_answers_is_not_listed(
    diffs: Path, capsys: pytest.CaptureFixture[str], edit: str
) -> None:
    """It has another edit for that case, or has only asked."""
    (diffs / "gone_wrong.py").write_text(
        "assert 'no such' in open('up/lib.py').read()\n"
    )
    (diffs / "fix.sh").write_text(f"{FIRST}{edit}\n")
    report = adopted(capsys, "fix.sh")
    assert kinds(report) == {"lib": ["Replace", "Edit"]}
    assert report["left"] == []


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize(
    ("command", "listed"),
    [
        ("cd /src/up && git am /opt/diffs/mail.patch", []),
        ("git -c user.name=A -C /src/up am -3 /opt/diffs/mail.patch", []),
        (
            "cd /src/up && git am /opt/diffs/unfit.patch || git am --abort",
            ["git am /opt/diffs/unfit.patch"],
        ),
    ],
)
def test_git_am_in_a_dockerfile(
    diffs: Path, capsys: pytest.CaptureFixture[str], command: str, listed: list[str]
) -> None:
    """In a checkout, whose place the copy takes."""
    (diffs / "Dockerfile").write_text(
        f"FROM x\nWORKDIR /src/up\nRUN {FIRST}COPY *.patch /opt/diffs/\nRUN {command}\n"
    )
    report = adopted(capsys, "Dockerfile", code=bool(listed))
    assert kinds(report) == {"lib": ["Replace"] if listed else ["Replace", "Edit"]}
    assert [left["code"] for left in report["left"]] == listed

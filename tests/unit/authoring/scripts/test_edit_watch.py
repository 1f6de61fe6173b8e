"""Edits of texts in Python programs that change nothing: they are listed, and no others are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.packages import world

from authoring.scripts.adopted_scripts import SITE, adopted, here, kinds
from patchkit.authoring.scripts.edit_watch import instrumented

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]

READ = f"from pathlib import Path\nimport re\np = Path('{SITE}/up/lib.py')\nt = p.read_text()\n"
WRITE = "p.write_text(t)\n"
EDIT = "t = t.replace('LIMIT = 1', 'LIMIT = 2')\n"


def left_of(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, *, code: int = 1
) -> list[dict[str, Any]]:
    """Adopt a program that sets LIMIT to 2, too; return what is in no row."""
    (here / "fix.py").write_text(text)
    report = adopted(capsys, "fix.py", code=code)
    assert kinds(report) == {"lib": ["Replace"]}
    left: list[dict[str, Any]] = report["left"]
    return left


@pytest.mark.processes
@pytest.mark.parametrize(
    ("edit", "line", "code"),
    [
        ("t = t.replace('no such', 'x')", 6, "replace('no such', …)"),
        ("t = str.replace(t, 'no such', 'x')", 6, "replace('no such', …)"),
        ("t = re.sub(r'no\\s+such', 'x', t)", 6, r"sub('no\\s+such', …)"),
        ("t = re.sub('NO SUCH', string=t, repl='x', flags=re.I)", 6, "sub('NO SUCH', …)"),
        ("t = re.compile('no such').sub(str.upper, t)", 6, "sub('no such', …)"),
        ("t, n = re.subn('no such', 'x', t)", 6, "subn('no such', …)"),
        ("t = '# new\\n' + t\nt = t.replace('no such', 'x')", 7, "replace('no such', …)"),
        (
            "t = ''.join(x.replace('no such', 'x') for x in t.splitlines(True))",
            6,
            "replace('no such', …)",
        ),
        (
            "for old in ('a + LIMIT',\n 'no such'):\n t = t.replace(old, old)",
            7,
            "replace('no such', …)",
        ),
        (
            "b = p.read_bytes()\nb.replace(b'no such', b'x')",
            7,
            "replace('no such', …)",
        ),
        (
            "q = p.with_name('__init__.py')\nq.write_text(q.read_text())",
            7,
            "up/__init__.py",
        ),
    ],
)  # fmt: skip
def test_an_edit_that_changes_nothing_is_listed(
    here: Path, capsys: pytest.CaptureFixture[str], edit: str, line: int, code: str
) -> None:
    """With its own line, although another edit of the program has changed the file."""
    (left,) = left_of(here, capsys, f"{READ}{EDIT}{edit}\n{WRITE}")
    assert (left["line"], left["code"]) == (line, code)
    assert left["file"].endswith("fix.py")
    assert left["reason"] in {
        "it changed nothing in up 1.0",
        "it was written as it is in up 1.0",
    }


@pytest.mark.processes
@pytest.mark.parametrize(
    "edit",
    [
        "if 'no such' in t:\n t = t.replace('no such', 'x')",
        "t = t.replace('\\r\\n', '\\n').replace('\\t', '    ')",
        "name = 'up-lib'.replace('_', '.')",
        "parts = 'a b'.replace('c', 'd').split()",
        "for q in p.parent.rglob('*.py'):\n s = q.read_text()\n"
        " q.write_text(s.replace('a + LIMIT', 'a + LIMIT'))\nt = t",
        "u = t.replace('no such', 'LIMIT * 1')\nif u == t:\n u = t.replace('+ LIMIT', 'LIMIT * 1')",
        "class C:\n replace = staticmethod(lambda a, b: a)\nC.replace('x', 'y')",
        "main = re = json = None",
    ],
)
def test_what_is_no_lost_edit_is_not_listed(
    here: Path, capsys: pytest.CaptureFixture[str], edit: str
) -> None:
    """One behind a condition, of blanks, of another text, for several files, with another way."""
    assert left_of(here, capsys, f"{READ}{EDIT}{WRITE}{edit}\n", code=0) == []


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "text", "file", "line"),
    [
        ("fix.sh", "python3 - <<'PY'\n{}PY\n", "fix.sh", 7),
        (
            "fix.sh",
            "cat > /tmp/no-such.py <<'PY'\n{}PY\npython3 -u /tmp/no-such.py\n",
            "fix.sh",
            7,
        ),
        ("fix.sh", 'python3 -c "{}"\n', "fix.sh", 6),
        ("Dockerfile", "FROM x\nRUN python3 - <<'PY'\n{}PY\n", "Dockerfile", 8),
        (
            "Dockerfile",
            "FROM x\nCOPY edit.py /opt/\nRUN python3 /opt/edit.py\n",
            "edit.py",
            6,
        ),
        ("run.py", "import edit\n", "edit.py", 6),
    ],
)
def test_a_program_is_watched_wherever_it_stands(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    file: str,
    line: int,
) -> None:
    """In a document, an option, a copied file, or an imported one."""
    program = f"{READ}{EDIT}t = t.replace('no such', 'x')\n{WRITE}"
    (here / "edit.py").write_text(program.replace(SITE, "/x/site-packages"))
    (here / name).write_text(text.replace("{}", program))
    if name == "run.py":
        (here / "edit.py").write_text(
            program.replace(f"'{SITE}/up/lib.py'", "'up/lib.py'")
        )
    report = adopted(capsys, name, code=1)
    assert kinds(report) == {"lib": ["Replace"]}
    (left,) = report["left"]
    assert left["file"].rpartition("/")[2] == file
    assert left["line"] == line


@pytest.mark.processes
def test_a_program_finds_its_file_and_arguments(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also after it has left its folder, and with a program on its standard input."""
    (here / "tool.py").write_text(
        "import os, sys, dataclasses\n"
        "os.chdir('up')\n"
        "assert os.path.samefile(os.path.dirname(__file__), '..'), __file__\n"
        "assert sys.argv == ['tool.py', 'a b', '-c'] and __name__ == '__main__'\n"
        "@dataclasses.dataclass\n"
        "class Box:\n"
        "    value: 'int' = 2\n"
        "t = open('lib.py').read()\n"
        "open('lib.py', 'w').write(t.replace('LIMIT = 1', f'LIMIT = {Box().value}'))\n"
    )
    (here / "fix.sh").write_text(
        "set -e\npython3 -W ignore -u tool.py 'a b' -c\n"
        "python3 - x <<'PY'\nimport sys\nassert sys.argv == ['-', 'x']\n"
        "assert '__file__' not in globals()\nPY\n"
        "echo 'import sys; assert sys.path[0] == \"\"' | python3\n"
        'python3 -c \'import sys; sys.exit(sys.argv != ["-c", "y"])\' y\n'
        "if python3 -c 'raise SystemExit(3)'; then exit 1; else test $? = 3; fi\n"
    )
    report = adopted(capsys, "fix.sh")
    assert kinds(report) == {"lib": ["Replace"]}


def test_a_watched_program_does_what_it_did() -> None:
    """Its calls and comparisons have the same values, by the same names."""
    text = (
        "from re import sub\n"
        "class A:\n"
        "    def replace(self, *args, **kwargs): return args, kwargs\n"
        "a, b = 'x', 'x'\n"
        "values = [a.replace('x', 'y'), A().replace(1, *[2], c=3, **{'d': 4}), sub('x', 'z', a),\n"
        "          a == b, a != b, a == b == 'x', a.replace('x', 'y') == b]\n"
    )
    expected: dict[str, Any] = {}
    exec(text, expected)

    def call(place: object, name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    found: dict[str, Any] = {
        "__patchkit_edit__": call,
        "__patchkit_compared__": lambda left, right: None,
    }
    exec(compile(instrumented(text, "fix.py"), "fix.py", "exec"), found)
    assert found["values"] == expected["values"]

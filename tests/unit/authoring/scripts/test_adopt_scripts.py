"""`patchkit adopt --from-script`: scripts run on a copy of a release, and edits become rows."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from support.packages import world

from authoring.index_of_up import INTO_MINE
from authoring.scripts.adopted_scripts import PATCH, SITE, adopted, here, kinds
from patchkit.authoring.isolation.commands import Isolation
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fix.sh", "sed -i 's/a + LIMIT/a - LIMIT/' up/lib.py\n"),
        ("fix.sh", f"sed -i 's/a + LIMIT/a - LIMIT/' {SITE}/up/lib.py\n"),
        ("fix.sh", "sed -i.bak 's/a + LIMIT/a - LIMIT/' up/lib.py\n"),
        ("fix.sh", "patch -p1 < fixes/a.patch\n"),
        ("fix.sh", f'patch -d {SITE} -p1 -i "$(dirname "$0")/fixes/a.patch"\n'),
        ("fix.bash", 'cd "$(dirname "${BASH_SOURCE[0]}")"; H=$PWD; cd /x/site-packages\n'
         "git apply $H/fixes/a.patch\n"),
        ("fix.sh", "perl -pi -e 's/a \\+ LIMIT/a - LIMIT/' $(python3 -c "
         "'import up.lib; print(up.lib.__file__)')\n"),
        ("fix.sh", 'D=$(pip show up | grep ^Location | cut -d" " -f2)\n'
         "sed -i 's/a + L/a - L/' $D/up/lib.py\n"),
        ("fix.sh", "set -e\npip install nothing\nsudo sed -i 's/a + L/a - L/' up/lib.py\n"),
        ("fix.sh", "cat > /tmp/no-such-fix.py <<'PY'\nimport up.lib as m\n"
         "t = open(m.__file__).read().replace('a + L', 'a - L')\n"
         "open(m.__file__, 'w').write(t)\nPY\npython3 /tmp/no-such-fix.py\n"),
        ("fix.py", "from importlib.util import find_spec\nfrom pathlib import Path\n"
         "p = Path(find_spec('up').origin).parent / 'lib.py'\n"
         "p.write_text(p.read_text().replace('a + L', 'a - L'))\n"),
        ("fix.py", f"p = '{SITE}/up/lib.py'\n"
         "t = open(p).read()\nassert 'a + L' in t\n"
         "open(p, 'w').write(t.replace('a + L', 'a - L'))\n"),
        ("Dockerfile", "FROM x\nRUN pip install up && \\\n"
         f"    sed -i 's/a + L/a - L/' {SITE}/up/lib.py\n"),
        ("Dockerfile", f"FROM x\nCOPY fixes /opt/fixes\nWORKDIR {SITE}\n"
         "RUN patch -p1 < /opt/fixes/a.patch && rm -rf /var/lib/apt/lists/*\n"),
    ],
)  # fmt: skip
def test_an_edit_becomes_a_row(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    """However the script finds the file; `check` accepts the row."""
    (here / "fixes").mkdir()
    (here / "fixes" / "a.patch").write_text(PATCH)
    (here / name).write_text(text)
    report = adopted(capsys, name)
    assert kinds(report) == {"lib": ["Edit"]}
    assert report["left"] == []
    row = (here / "mine" / "__init__.py").read_text()
    assert "a - LIMIT" in row
    assert "upstream=" in row
    sys.path_importer_cache.clear()
    assert main(["check", "--patches", "mine", "--releases", "up==1.0"]) == 0


def test_scripts_run_one_after_another_on_the_same_copy(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """New modules, constants and functions are adopted as from a diff; arguments are passed on."""
    (here / "one.sh").write_text("sed -i 's/LIMIT = 1/LIMIT = 2/' \"$1\"\n")
    (here / "two.py").write_text(
        "open('up/lib.py', 'a').write('\\n\\ndef g():\\n    return f(LIMIT)\\n')\n"
        "open('up/new.py', 'w').write('from .lib import g\\n')\n"
    )
    report = adopted(capsys, f"one.sh {SITE}/up/lib.py", "two.py")
    assert kinds(report) == {"lib": ["Add", "Replace"], "new": ["Provide"]}
    commands = [step["command"] for step in report["script"]["run"]]
    assert commands[0].startswith("sh one.sh ")
    assert commands[1] == "python3 two.py"


def test_nothing_but_the_copy_is_written(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A script that writes elsewhere fails, where the system can refuse that."""
    outside = tmp_path_factory.mktemp("outside") / "file"
    outside.write_text("old")
    (here / "fix.sh").write_text(f"sed -i s/1/2/ up/lib.py; echo new > {outside}\n")
    words = ["adopt", "--from-script", "fix.sh", *INTO_MINE, "--yes"]
    code = main(words)
    out, err = capsys.readouterr()
    if "with leave to write elsewhere" in err:
        pytest.skip("this system has no Landlock")
    assert outside.read_text() == "old"
    assert code == 1
    assert "it ended with 2" in out
    assert "what it had changed is not adopted" in out
    assert not (here / "mine").exists()


def test_a_step_that_fails_is_listed_and_taken_back(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are adopted; a line that changes nothing is listed, too."""
    (here / "Dockerfile").write_text(
        f"FROM x\nRUN sed -i 's/LIMIT = 1/LIMIT = 2/' {SITE}/up/lib.py\n"
        f"RUN sed -i 's/LIMIT = 2/LIMIT = 3/' {SITE}/up/lib.py && \\\n"
        f"    cp {SITE}/up/gone.py {SITE}/up/core/lib.py\n"
        f"RUN sed -i 's/LIMIT = 3/LIMIT = 4/' {SITE}/up/lib.py\n"
    )
    report = adopted(capsys, "Dockerfile", code=1)
    assert kinds(report) == {"lib": ["Replace"]}
    assert "LIMIT = 2" in (here / "mine" / "patch_lib.py").read_text()
    failed, without_effect = report["left"]
    assert failed["line"] == 3
    assert failed["reason"].startswith("it ended with 1: cp: ")
    assert "up/gone.py" in failed["reason"]
    assert failed["reason"].endswith("; what it had changed is not adopted")
    assert without_effect["line"] == 5
    assert without_effect["reason"] == "it changed nothing in up 1.0"


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            f"sed -i 's/no such text/x/' {SITE}/up/lib.py",
            "it changed nothing in up 1.0",
        ),
        (
            f"sed -i 's/LIMIT = 2/LIMIT = 3/' {SITE}/up/gone.py",
            "it ended with 2, and the script went on",
        ),
        (
            f"sed -i 's/LIMIT = 2/(/; s/(' {SITE}/up/lib.py",
            "it ended with 1, and the script went on",
        ),
        (
            f"patch -p1 -d {SITE} -i gone.patch",
            "it ended with 2, and the script went on",
        ),
    ],
    ids=["no match", "no file", "no command", "no patch"],
)
def test_an_edit_that_does_nothing_is_listed_although_the_script_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str], edit: str, reason: str
) -> None:
    """With its own line and text; the other edits of the script are adopted."""
    (here / "fix.sh").write_text(
        f"sed -i 's/LIMIT = 1/LIMIT = 2/' {SITE}/up/lib.py\n"
        f"{edit}\n"
        f"sed -i 's/return a/return 1/' {SITE}/up/lib.py\n"
    )
    report = adopted(capsys, "fix.sh", code=1)
    assert kinds(report) == {"lib": ["Replace", "Edit"]}
    last = report["left"][-1]
    assert last["reason"] == reason
    assert last["line"] == 2
    assert SITE not in last["code"]
    assert last["code"].partition(" ")[0] in edit


@pytest.mark.skipif(not shutil.which("ed"), reason="there is no ed here")
def test_an_editor_of_lines_is_watched_too(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that fails is listed, although the script goes on."""
    (here / "fix.sh").write_text(
        "sed -i 's/LIMIT = 1/LIMIT = 2/' up/lib.py\n"
        "printf 's/no such text/x/\\nw\\n' | ed -s up/lib.py || true\n"
    )
    report = adopted(capsys, "fix.sh", code=1)
    (edit,) = report["left"]
    assert edit["code"] == "ed -s up/lib.py"
    assert edit["reason"].startswith("it ended with")


def test_a_long_script_is_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The system takes no argument of its length, and `$0` is the script all the same."""
    document = "a line of a diff that the script brings\n" * 5000
    (here / "fix.sh").write_text(
        f"cat > /dev/null <<'END'\n{document}END\n"
        '[ $(basename $0) = fix.sh ] && sed -i "s/LIMIT = 1/LIMIT = $1/" up/lib.py\n'
    )
    report = adopted(capsys, "fix.sh 7")
    assert kinds(report) == {"lib": ["Replace"]}


def test_a_trial_of_an_edit_is_no_edit(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script may ask whether a patch fits."""
    (here / "a.patch").write_text(PATCH)
    (here / "fix.sh").write_text(
        "patch -p1 -R --dry-run -i a.patch || patch -p1 -i a.patch\n"
        "sed -n '1p' up/lib.py\n"
    )
    report = adopted(capsys, "fix.sh")
    assert kinds(report) == {"lib": ["Edit"]}


def test_a_copy_of_a_file_that_is_not_there_is_listed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Docker would refuse it, so that no image has what is adopted."""
    (here / "Dockerfile").write_text(
        f"FROM x\nCOPY gone.py {SITE}/up/gone.py\n"
        f"RUN sed -i 's/LIMIT = 1/LIMIT = 2/' {SITE}/up/lib.py\n"
    )
    report = adopted(capsys, "Dockerfile", code=1)
    assert kinds(report) == {"lib": ["Replace"]}
    (missing,) = report["left"]
    assert missing["line"] == 2
    assert missing["reason"] == "it copies what is not beside the Dockerfile"


def test_a_copied_script_edits_the_copy(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its paths lead into the copy, too."""
    (here / "fix.py").write_text(
        f"p = '{SITE}/up/lib.py'\nt = open(p).read().replace('a + L', 'a - L')\n"
        "open(p, 'w').write(t)\n"
    )
    (here / "apply.sh").write_text(f"#!/bin/sh\nls {SITE}/up && exit 3\n")
    (here / "Dockerfile").write_text(
        "FROM x\nCOPY fix.py /opt/\nRUN python3 /opt/fix.py\n"
        "COPY --chmod=755 apply.sh /bin/apply.sh\nRUN /bin/apply.sh\n"
    )
    report = adopted(capsys, "Dockerfile", code=1)
    assert kinds(report) == {"lib": ["Edit"]}
    (left,) = report["left"]
    assert left["code"] == "/bin/apply.sh"
    assert left["reason"].startswith("it ended with 3: ")


def test_a_script_that_takes_too_long_is_ended(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "fix.sh").write_text("sed -i s/1/2/ up/lib.py\nsleep 60\n")
    words = ["adopt", "--from-script", "fix.sh", *INTO_MINE, "--yes", "--timeout", "1"]
    assert main(words) == 1
    assert "it took longer than 1 s" in capsys.readouterr().out


def test_what_is_no_module_of_the_package_is_listed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other packages, data, the home folder, and what Python cannot parse."""
    (here / "fix.sh").write_text(
        "sed -i s/1/2/ up/lib.py\necho x > up/data.json\necho x > other.py\n"
        "echo x > ~/.config\necho ')' >> up/core/lib.py\n"
    )
    report = adopted(capsys, "fix.sh", code=1)
    reasons = {
        left["file"].rpartition("/")[2]: left["reason"] for left in report["left"]
    }
    assert reasons.pop("lib.py").startswith(
        "as the scripts left it, this Python cannot"
    )
    assert reasons == {
        "data.json": "it is no Python module of the release; no row changes such a file",
        "other.py": "it is outside of up",
        ".config": "it is outside of up",
    }


def test_a_text_with_the_folder_of_the_copy_is_listed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row with it would name a folder that is gone."""
    (here / "fix.sh").write_text(f"echo 'HERE = \"{SITE}/up\"' >> up/lib.py\n")
    (left,) = adopted(capsys, "fix.sh", code=1)["left"]
    assert left["reason"] == "its new text names the folder of the copy, which is gone"


def test_what_will_be_run_is_told_before(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is left out; without a yes, nothing is run."""
    (here / "Dockerfile").write_text(
        f"FROM x\nRUN pip install up && sed -i s/1/2/ {SITE}/up/lib.py\n"
    )
    words = ["adopt", "--from-script", "Dockerfile", *INTO_MINE]
    assert main(words) == 2
    assert "found no terminal to ask on" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    assert main(words) == 130
    err = capsys.readouterr().err
    assert "will run on a copy of up 1.0, in a temporary folder:\n" in err
    assert "  Dockerfile:2  sed -i s/1/2/ " in err
    assert (
        "not run, as it edits no file of the package:\n  Dockerfile:2  pip install up"
        in err
    )
    assert not (here / "mine").exists()
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "y")
    assert main(words) == 0
    assert (here / "mine").exists()


def test_installations_of_a_script_are_told_after_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "fix.sh").write_text("pip install y\nsed -i s/1/2/ up/lib.py\n")
    words = ["adopt", "--from-script", "fix.sh", *INTO_MINE, "--yes", "--dry-run"]
    assert main(words) == 0
    assert capsys.readouterr().err.endswith("  fix.sh:1  pip install y\n")
    report = adopted(capsys, "fix.sh")
    assert report["script"]["left_out"] == [
        {"file": "fix.sh", "line": 1, "text": "pip install y"}
    ]


def test_what_the_system_does_not_cut_off_is_told_before(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reasons that it gives."""
    (here / "fix.sh").write_text("sed -i s/1/2/ up/lib.py\n")
    refused = Isolation("unshare: not permitted", "landlock: not implemented")
    monkeypatch.setattr("patchkit.cli.script_runs.isolation_here", lambda _: refused)
    words = ["adopt", "--from-script", "fix.sh", *INTO_MINE, "--yes", "--dry-run"]
    assert main(words) == 0
    err = capsys.readouterr().err
    assert "with the network, which this system does not cut off: unshare: not" in err
    assert "which this system does not refuse: landlock: not implemented" in err
    script = adopted(capsys, "fix.sh")["script"]
    assert (script["network_cut"], script["files_protected"]) == (False, False)


def test_wrong_use_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several sources and `--yes` are for scripts; a source of another kind is not."""
    (here / "fix.sh").write_text("sed -i s/1/2/ up/lib.py\n")
    for words, fault in (
        (["a.diff", "b.diff"], "found 2 sources, expected one"),
        (["a.diff", "--yes"], "--yes: found no --from-script"),
        (["--from-script", "fix.sh", "--installed"], "found --installed or --observe"),
        (["--from-script", "gone.sh", "--yes"], "gone.sh: "),
    ):
        assert main(["adopt", *words, *INTO_MINE]) == 2
        assert fault in capsys.readouterr().err
    assert not (here / "mine").exists()


def test_documents_of_a_dockerfile_are_copied(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Into the package as modules, elsewhere as programs that later lines run."""
    (here / "Dockerfile").write_text(
        "FROM x\n"
        "ARG LEAST=3\n"
        f"COPY <<one.py <<'two.py' {SITE}/up/\n"
        "ONE = $LEAST\n"
        "one.py\n"
        "TWO = '$LEAST'\n"
        "two.py\n"
        "COPY <<-'EOF' /opt/fix.py\n"
        f"p = '{SITE}/up/lib.py'\n"
        "t = open(p).read()\n"
        "open(p, 'w').write(t.replace('a + L', 'a - L').replace('no such', 'x'))\n"
        "EOF\n"
        "RUN python3 /opt/fix.py\n"
    )
    report = adopted(capsys, "Dockerfile", code=1)
    assert kinds(report) == {"lib": ["Edit"], "one": ["Provide"], "two": ["Provide"]}
    assert "ONE = 3" in (here / "mine" / "patch_one.py").read_text()
    assert "TWO = '$LEAST'" in (here / "mine" / "patch_two.py").read_text()
    (left,) = report["left"]
    assert (left["file"], left["line"]) == ("Dockerfile", 11)

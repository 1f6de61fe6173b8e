"""What is run of a Dockerfile: the commands that edit files of the package, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.scripts.workplaces import workspace_in
from patchkit.authoring.scripts.dockerfile_steps import DockerfileSteps
from patchkit.authoring.scripts.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.authoring.scripts.plan import ScriptPlan

SITE = "/usr/local/lib/python3.12/dist-packages"


def plan_of(folder: Path, text: str) -> ScriptPlan:
    """The plan of a Dockerfile in a folder, whose copy is beside it."""
    file = folder / "Dockerfile"
    file.write_text(text)
    steps = DockerfileSteps(str(file), workspace_in(folder))
    steps.run(text)
    return steps.plan


def shown(folder: Path, plan: ScriptPlan) -> list[str]:
    """What is run, with `SITE` for the folder of the copy."""
    site = str(workspace_site(folder))
    return [step.text.replace(site, "SITE") for step in plan.told]


def workspace_site(folder: Path) -> Path:
    """The folder of the copy."""
    return Workspace(folder / "copy", "up", "up", "1.0").site


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"sed -i s/a/b/ {SITE}/up/lib.py", "sed -i s/a/b/ SITE/up/lib.py"),
        (
            f"apt-get update && sed -i s/a/b/ {SITE}/up/x.py && pip install up",
            "sed -i s/a/b/ SITE/up/x.py",
        ),
        (f"cd {SITE} && patch -p1 < a", "cd SITE && patch -p1 < a"),
        (
            f"cd {SITE} && ls; echo 'x = 1' >> up/x.py",
            "cd SITE ; echo 'x = 1' >> up/x.py",
        ),
        (
            f"perl -pi -e s/a/b/ {SITE}/up/x.py || true",
            "perl -pi -e s/a/b/ SITE/up/x.py || true",
        ),
        (
            f"if [ -f {SITE}/up/x.py ]; then sed -i s/a/b/ {SITE}/up/x.py; fi",
            "if [ -f SITE/up/x.py ]; then sed -i s/a/b/ SITE/up/x.py; fi",
        ),
        (
            f"grep -q b {SITE}/up/x.py || sed -i s/a/b/ {SITE}/up/x.py",
            "grep -q b SITE/up/x.py || sed -i s/a/b/ SITE/up/x.py",
        ),
        (
            'python3 -c \'import up; open(up.__file__, "a").write("x")\'',
            'python3 -c \'import up; open(up.__file__, "a").write("x")\'',
        ),
        (
            "sed -i s/a/b/ $(python3 -c 'import up; print(up.__file__)')",
            "sed -i s/a/b/ $(python3 -c 'import up; print(up.__file__)')",
        ),
        (
            f"set -eux; rm -rf /var/lib/apt/lists/*; X={SITE}/up; sed -i s/a/b/ $X/x.py",
            "set -eux ; X=SITE/up ; sed -i s/a/b/ $X/x.py",
        ),
        (f'["sed", "-i", "s/a/b/", "{SITE}/up/x.py"]', "sed -i s/a/b/ SITE/up/x.py"),
    ],
)
def test_commands_that_edit_the_package_are_run(
    tmp_path: Path, command: str, expected: str
) -> None:
    """With what they need of their line, and without what stands between."""
    plan = plan_of(tmp_path, f"FROM x\nRUN {command}\n")
    assert shown(tmp_path, plan) == [expected]


@pytest.mark.parametrize(
    "command",
    [
        "pip install up",
        "apt-get install -y patch",
        "python3 -m up.tools",
        "vllm serve up > log",
        "sed -i s/a/b/ /etc/hosts",
        "git clone https://github.com/org/up",
        "curl -o up.tar.gz https://example.org/up.tar.gz",
        "rm -rf /var/cache/up",
        "cp up.json /etc/up.json",
        "echo up > /etc/motd",
        "echo up",
    ],
)
def test_other_commands_are_left_out(tmp_path: Path, command: str) -> None:
    """They are listed with their line."""
    plan = plan_of(tmp_path, f"FROM x\nRUN true\nRUN {command}\n")
    assert plan.told == []
    assert (plan.left_out[-1].line, plan.left_out[-1].text) == (3, command)


def test_in_the_copy_commands_that_write_elsewhere_are_left_out(tmp_path: Path) -> None:
    """What they name is not that of the image, but of this machine."""
    text = (
        f"FROM x\nWORKDIR {SITE}/up\nRUN rm -rf /var/lib/x/* && sed -i '/a/d' lib.py\n"
    )
    assert shown(tmp_path, plan_of(tmp_path, text)) == ["sed -i '/a/d' lib.py"]


def test_variables_and_the_working_directory_are_known(tmp_path: Path) -> None:
    """A value that leads to the release leads into the copy; a new stage begins without them."""
    text = (
        f"FROM x\nENV SITE={SITE} NAME=lib\nARG LEVEL=1\nWORKDIR $SITE/up\n"
        "RUN sed -i s/a/b/ lib.py\nFROM y\nRUN sed -i s/a/b/ lib.py\n"
    )
    plan = plan_of(tmp_path, text)
    (step,) = plan.told
    site = workspace_site(tmp_path)
    assert step.folder == site / "up"
    assert dict(step.variables or {}) == {
        "SITE": str(site),
        "NAME": "lib",
        "LEVEL": "1",
    }


def test_copied_files_are_there_for_commands(tmp_path: Path) -> None:
    """Scripts and patches beside the Dockerfile, if they name the package; others are not run."""
    (tmp_path / "fix.py").write_text("import up\n")
    (tmp_path / "other.py").write_text("import sys\n")
    (tmp_path / "fixes").mkdir()
    (tmp_path / "fixes" / "a.patch").write_text("--- a/up/lib.py\n")
    text = (
        "FROM x\nWORKDIR /app\nCOPY fix.py other.py /opt/\nCOPY fixes fixes/\n"
        "RUN python3 /opt/fix.py\nRUN python3 /opt/other.py\n"
        f"RUN patch -p1 -d {SITE} -i /app/fixes/a.patch\n"
    )
    plan = plan_of(tmp_path, text)
    root = tmp_path / "copy" / "root"
    python, patch = plan.told
    assert python.text == f"python3 {root}/opt/fix.py"
    assert python.folder == root / "app"
    assert patch.text.endswith(f" -i {root}/app/fixes/a.patch")
    targets = [copy.target for step in plan.steps for copy in step.copies]
    names = ["opt/fix.py", "opt/other.py", "app/fixes"]
    assert targets == [root / name for name in names]


def test_a_file_that_is_copied_into_the_package_is_an_edit(tmp_path: Path) -> None:
    """It is told like a command."""
    (tmp_path / "lib.py").write_text("x = 1\n")
    plan = plan_of(tmp_path, f"FROM x\nCOPY lib.py {SITE}/up/lib.py\n")
    (step,) = plan.told
    assert step.text == f"COPY lib.py {SITE}/up/lib.py"
    (copy,) = step.copies
    assert copy.target == workspace_site(tmp_path) / "up" / "lib.py"


def test_what_is_copied_from_elsewhere_is_left_out(tmp_path: Path) -> None:
    """From another stage, or from outside of the Dockerfile's folder."""
    context = tmp_path / "context"
    context.mkdir()
    (tmp_path / "secret").touch()
    text = "FROM x\nCOPY --from=build /a /b\nCOPY ../secret /b\nCOPY missing /b\n"
    plan = plan_of(context, text)
    assert plan.steps == []
    assert [part.line for part in plan.left_out] == [2, 3, 4]


def test_a_folder_that_is_too_large_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole repositories are copied into images, with models and more."""
    (tmp_path / "many").mkdir()
    for name in ("one", "two"):
        (tmp_path / "many" / name).touch()
    monkeypatch.setattr("patchkit.authoring.scripts.plan._MOST_FILES", 1)
    plan = plan_of(tmp_path, "FROM x\nCOPY many /app\n")
    assert plan.steps == []
    assert [part.text for part in plan.left_out] == ["COPY many /app"]


def test_a_mounted_folder_is_there_for_its_command(tmp_path: Path) -> None:
    (tmp_path / "fixes").mkdir()
    (tmp_path / "fixes" / "a.patch").write_text("--- a/up/lib.py\n")
    text = (
        "FROM x\nRUN --mount=type=bind,source=fixes,target=/fixes "
        f"cd {SITE} && git apply /fixes/a.patch\n"
    )
    (step,) = plan_of(tmp_path, text).told
    (copy,) = step.copies
    assert copy.target == tmp_path / "copy" / "root" / "fixes"
    assert step.text.endswith(f"git apply {copy.target}/a.patch")


def test_documents_are_scripts(tmp_path: Path) -> None:
    """Also those that follow a command."""
    text = f"FROM x\nRUN <<EOF\npip install y\nsed -i s/a/b/ {SITE}/up/x.py\nEOF\n"
    assert shown(tmp_path, plan_of(tmp_path, text)) == ["sed -i s/a/b/ SITE/up/x.py"]
    second = tmp_path / "second"
    second.mkdir()
    text = "FROM x\nRUN python3 - <<'EOF'\nimport up\nEOF\n"
    (command,) = shown(second, plan_of(second, text))
    assert command == "python3 - <<'EOF'\nimport up\nEOF"

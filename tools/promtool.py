"""Check the alert rules of `examples/metrics`, and what `status` prints, with promtool.

promtool is that of PATH, or else that of Debian's package `prometheus`, which is downloaded and
unpacked under `.envs`, and not installed. Run it as `make metrics`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RULES = REPOSITORY / "examples" / "metrics"
PLACE = REPOSITORY / ".envs" / "promtool"

UPSTREAM = "def function(): return 'old'\n"
PACK = """
from patchkit import Patch, Replace, Role
PATCHES = (
    Patch(
        name="p",
        body="patch_a",
        requires=("sample-upstream>=1",),
        roles=set(Role),
        changes=(Replace("sample_upstream:function", by="function"),),
    ),
)
"""


def promtool() -> str:
    """Return the path of promtool; SystemExit if there is none, and none can be had."""
    found = shutil.which("promtool")
    if found:
        return found
    unpacked = PLACE / "usr" / "bin" / "promtool"
    if not unpacked.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        got = subprocess.run(
            ["apt-get", "download", "-q", "prometheus"], cwd=PLACE, check=False
        )
        packages = sorted(PLACE.glob("prometheus_*.deb"))
        if got.returncode or not packages:
            raise SystemExit("promtool: found none, expected Prometheus in PATH or apt")
        subprocess.run(["dpkg", "-x", packages[-1], PLACE], check=True)
        packages[-1].unlink()
    return str(unpacked)


def sample_metrics(folder: Path) -> str:
    """Run a process with a patch, and return the metrics of its journal."""
    (folder / "sample_upstream.py").write_text(UPSTREAM)
    pack = folder / "sample_pack"
    pack.mkdir()
    (pack / "__init__.py").write_text(PACK)
    (pack / "patch_a.py").write_text("def function(): return 'new'\n")
    journal = folder / "journal"
    environ = os.environ | {
        "PATCHKIT_PATCHES": "sample_pack",
        "PATCHKIT_JOURNAL": str(journal),
        "PATCHKIT_VERSIONS": "sample-upstream=1.0",
        "PYTHONPATH": os.pathsep.join([str(folder), str(REPOSITORY)]),
    }
    run = [sys.executable, "-c", "import patchkit.auto, sample_upstream"]
    subprocess.run(run, env=environ, check=True)
    status = [sys.executable, "-m", "patchkit", "status", str(journal)]
    done = subprocess.run(
        [*status, "--format", "prometheus"],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def main() -> None:
    """Check rules, their tests, and the metrics of a sample."""
    tool = promtool()
    rules = "patchkit.rules.yml"
    subprocess.run([tool, "check", "rules", rules], cwd=RULES, check=True)
    subprocess.run([tool, "test", "rules", "rules_test.yml"], cwd=RULES, check=True)
    with tempfile.TemporaryDirectory() as folder:
        metrics = sample_metrics(Path(folder))
    subprocess.run([tool, "check", "metrics"], input=metrics, text=True, check=True)
    families = metrics.count("# TYPE")
    print(f"metrics: {families} families, well formed")


if __name__ == "__main__":
    main()

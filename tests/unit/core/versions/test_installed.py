"""What runs here: overrides, and the reasons why a requirement does not hold."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest
from support import layouts
from support.layouts import dist_info, package

from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import FoundVersion
from patchkit.errors import RequirementError, VersionError
from patchkit.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

lib = layouts.lib


class TestOverrides:
    def test_come_first(self, lib: Path) -> None:
        """What the environment says is believed instead of what is installed."""
        dist_info(lib, "vllm", "0.9.0", package(lib))
        versions = Versions({"Torch_NPU": "2.5.1"}, "0.11.0", [str(lib)])
        assert versions.find("vllm") == FoundVersion("vllm", "0.11.0", "VLLM_VERSION")
        assert versions.find("torch-npu") == FoundVersion(
            "torch-npu", "2.5.1", "PATCHKIT_VERSIONS"
        )

    def test_need_no_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An override is found without importing the module that searches for distributions."""
        searcher = "patchkit.core.versions.distributions"
        monkeypatch.delitem(sys.modules, searcher, raising=False)
        assert Versions({"up": "1.0"}).find("up") is not None
        assert searcher not in sys.modules

    def test_of_settings(self) -> None:
        """Both variables reach the versions; VLLM_VERSION is the last word on vLLM."""
        settings = Settings.read(
            {"VLLM_VERSION": "0.11.0", "PATCHKIT_VERSIONS": "vllm=0.9,ray=2.35"}
        )
        versions = Versions.of(settings)
        assert versions.find("vllm") == FoundVersion("vllm", "0.11.0", "VLLM_VERSION")
        assert versions.find("ray") == FoundVersion("ray", "2.35", "PATCHKIT_VERSIONS")

    @pytest.mark.parametrize("text", ["banana", "dev", "0.1.dev7"])
    def test_no_version(self, text: str) -> None:
        """An override that is no version is an error that names the variable and the text."""
        with pytest.raises(VersionError, match=f"'{text}' in VLLM_VERSION"):
            Versions(vllm_version=text).find("vllm")
        with pytest.raises(
            VersionError, match=f"ray: found '{text}' in PATCHKIT_VERSIONS"
        ):
            Versions({"ray": text}).unmet("ray")


class TestUnmet:
    @pytest.mark.parametrize(
        ("requirement", "reason"),
        [
            ("vllm", None),
            ("vllm>=0.10,<0.11", None),
            ("vllm >=0.11, <0.13", "vllm 0.10.2 is outside >=0.11,<0.13"),
            (
                "vllm (<0.9,>=0.8) ; python_version>'3'",
                "vllm 0.10.2 is outside <0.9,>=0.8",
            ),
            ("vllm[ray]>=0.11", "vllm 0.10.2 is outside >=0.11"),
            ("ray", "ray is not installed"),
            ("torch_npu>=2", "torch_npu is not installed"),
            ("ray>=2; python_version<'3'", None),
            ("ray>=2; extra=='serve'", None),
        ],
    )
    def test_reason(self, lib: Path, requirement: str, reason: str | None) -> None:
        """A requirement holds, or there is one reason in the contract's words."""
        dist_info(lib, "vllm", "0.10.2", package(lib))
        assert Versions(path=[str(lib)]).unmet(requirement) == reason

    def test_pre_release_counts_as_release(self, lib: Path) -> None:
        """A pre-release with a local part is within the bounds of its release."""
        dist_info(lib, "vllm", "0.12.0rc1.dev3+cpu", package(lib))
        versions = Versions(path=[str(lib)])
        assert versions.unmet("vllm>=0.12,<0.13") is None
        assert versions.unmet("vllm<0.12") == "vllm 0.12.0rc1.dev3+cpu is outside <0.12"

    def test_malformed(self) -> None:
        """A malformed requirement is an error, not a reason."""
        with pytest.raises(RequirementError):
            Versions().unmet("vllm >")

    def test_remembered(self, lib: Path) -> None:
        """The world is asked once: an answer stays the same within one session."""
        folder = dist_info(lib, "ray", "2.35.0", package(lib, "ray"))
        versions = Versions(path=[str(lib)])
        assert versions.unmet("ray>=2") is None
        for file in folder.iterdir():
            file.unlink()
        importlib.invalidate_caches()
        assert versions.unmet("ray>=2") is None
        assert versions.find("ray") == FoundVersion("ray", "2.35.0", "distribution ray")

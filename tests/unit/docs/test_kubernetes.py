"""The manifests of `examples/kubernetes`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml
from packaging.requirements import Requirement

from patchkit import Wrap, __version__
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[3] / "examples" / "kubernetes"
OPERATORS = {"LeaderWorkerSet", "RayCluster", "RayService"}
"""Kinds whose schemas are in no package: `studies/operator_schemas.py` validates them, and a test
the pods in them."""


def manifests() -> list[Any]:
    """Each document of each file, but for the values of a chart."""
    documents = []
    for file in sorted(FOLDER.glob("*.yaml")):
        if "values" not in file.name:
            documents += yaml.safe_load_all(file.read_text())
    return documents


def pods_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the specification of each pod in a document."""
    if isinstance(value, list):
        for each in value:
            yield from pods_in(each)
    elif isinstance(value, dict):
        if "containers" in value:
            yield value
        for each in value.values():
            yield from pods_in(each)


@pytest.mark.parametrize("manifest", manifests(), ids=lambda each: each["kind"])
def test_manifests_are_valid(manifest: dict[str, Any]) -> None:
    """Kubernetes knows every field, in the operators' kinds every field of their pods."""
    if manifest["kind"] not in OPERATORS:
        kubernetes_validate.validate(manifest, "1.37", strict=True)
    for spec in pods_in(manifest):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": spec,
        }
        kubernetes_validate.validate(pod, "1.37", strict=True)


def test_every_volume_that_is_mounted_is_there() -> None:
    """A name that is misspelled would leave a pod pending."""
    for spec in (pod for manifest in manifests() for pod in pods_in(manifest)):
        volumes = {volume["name"] for volume in spec["volumes"]}
        containers = [*spec["containers"], *spec.get("initContainers", ())]
        mounted = {
            mount["name"] for each in containers for mount in each["volumeMounts"]
        }
        assert mounted == volumes


def test_no_service_takes_the_name_that_an_operator_gives_to_its_own() -> None:
    """LeaderWorkerSet makes a Service of its name, by which workers find their leader."""
    files = (FOLDER / "leaderworkerset.yaml").read_text()
    made, service = yaml.safe_load_all(files)
    assert (made["kind"], service["kind"]) == ("LeaderWorkerSet", "Service")
    name = made["metadata"]["name"]
    assert service["metadata"]["name"] != name
    selector = service["spec"]["selector"]
    assert selector.pop("leaderworkerset.sigs.k8s.io/name") == name
    leader = made["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert selector.items() <= leader["metadata"]["labels"].items()


def test_the_init_containers_install_this_version() -> None:
    """A manifest and the settings it relies on are those of one release."""
    (data,) = [
        manifest["data"]
        for manifest in manifests()
        if manifest["metadata"]["name"] == "packs"
    ]
    (line,) = data["requirements.txt"].split()
    assert Requirement(line).name == "vllm-patchkit"
    assert str(Requirement(line).specifier) == f"=={__version__}"
    assert f"ARG WHEEL={line}\n" in (FOLDER / "Dockerfile").read_text()


def test_the_pack_in_the_config_map_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows and bodies are those of a pack, and the body does what it says."""
    (data,) = [
        manifest["data"]
        for manifest in manifests()
        if manifest["metadata"]["name"] == "hotfix"
    ]
    folder = tmp_path / "hotfix"
    folder.mkdir()
    for name, text in data.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    (row,) = read_pack("hotfix")
    (change,) = row.patch.changes
    assert isinstance(change, Wrap)
    body = importlib.import_module("hotfix.patch_serving")
    monkeypatch.delitem(sys.modules, "hotfix.patch_serving")

    class Logger:
        max_log_len: int | None = None

    logger = Logger()
    assert body.shorten(lambda *args: args, logger, (1,), {}) == (1,)
    assert logger.max_log_len == 200

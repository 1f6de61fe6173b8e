"""Validates the manifests of `examples/kubernetes` against the operators' own schemas.

No package brings the schemas of LeaderWorkerSet and KubeRay, nor that of the values of the chart
of vLLM's production-stack. They are read from clones of the three repositories. A field that a
schema does not know is an error, as an API server would drop it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFESTS = Path(__file__).parents[1] / "examples" / "kubernetes"
DEFINITIONS = {
    "LeaderWorkerSet": (
        "lws",
        "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    ),
    "RayCluster": (
        "kuberay",
        "ray-operator/config/crd/bases/ray.io_rayclusters.yaml",
    ),
    "RayService": (
        "kuberay",
        "ray-operator/config/crd/bases/ray.io_rayservices.yaml",
    ),
}
"""Repository and file of the definition of each kind."""
CHART = ("production-stack", "helm/values.schema.json")


def text_in(repository: Path, path: str) -> str:
    """Read a file of the newest commit of a clone, which may be a bare one.

    Args:
        repository: The clone.
        path: The file's path in it.

    Returns:
        The file's text.
    """
    command = ["git", "-C", str(repository), "show", f"HEAD:{path}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def closed(schema: Any) -> Any:
    """Make a schema refuse fields that it does not name.

    Args:
        schema: A schema, or a part of one.

    Returns:
        A copy. What is either an int or a string in Kubernetes may be both.
    """
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: closed(value) for key, value in schema.items()}
    if strict.get("x-kubernetes-int-or-string") is True:
        strict.pop("type", None)
    named = isinstance(strict.get("properties"), dict)
    is_open = strict.get("x-kubernetes-preserve-unknown-fields") is True
    if strict.get("type") == "object" and named and not is_open:
        strict.setdefault("additionalProperties", False)
    return strict


def schema_of(manifest: dict[str, Any], repositories: dict[str, Path]) -> Any:
    """Read the schema of an operator's kind.

    Args:
        manifest: A manifest.
        repositories: The clones by name.

    Returns:
        The schema of the manifest's version.
    """
    repository, path = DEFINITIONS[manifest["kind"]]
    definition = yaml.safe_load(text_in(repositories[repository], path))
    version = manifest["apiVersion"].rpartition("/")[2]
    (schema,) = [
        each["schema"]["openAPIV3Schema"]
        for each in definition["spec"]["versions"]
        if each["name"] == version
    ]
    schema["properties"]["metadata"] = {"type": "object"}
    return closed(schema)


def checked(repositories: dict[str, Path]) -> Iterator[tuple[str, list[str]]]:
    """Validate each manifest of an operator, and the values of the chart.

    Args:
        repositories: The clones by name.

    Yields:
        What was validated, and what is wrong with it.
    """
    for file in sorted(MANIFESTS.glob("*.yaml")):
        if "values" in file.name:
            repository, path = CHART
            schema = json.loads(text_in(repositories[repository], path))
            pairs = [(yaml.safe_load(file.read_text()), closed(schema))]
        else:
            manifests = yaml.safe_load_all(file.read_text())
            pairs = [
                (manifest, schema_of(manifest, repositories))
                for manifest in manifests
                if manifest["kind"] in DEFINITIONS
            ]
        for value, schema in pairs:
            errors = Draft202012Validator(schema).iter_errors(value)
            yield file.name, [f"{each.json_path}: {each.message}" for each in errors]


def main() -> int:
    """Validate, and print what is wrong.

    Returns:
        1 if anything is wrong.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lws", type=Path, help="clone of kubernetes-sigs/lws")
    parser.add_argument("kuberay", type=Path, help="clone of ray-project/kuberay")
    parser.add_argument(
        "stack", type=Path, help="clone of vllm-project/production-stack"
    )
    given = parser.parse_args()
    repositories = {
        "lws": given.lws,
        "kuberay": given.kuberay,
        "production-stack": given.stack,
    }
    wrong = 0
    for name, errors in checked(repositories):
        print(f"{name}: {'valid' if not errors else 'invalid'}")
        for error in errors:
            print(f"  {error}")
        wrong += len(errors)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

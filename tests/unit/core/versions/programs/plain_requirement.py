import sys

from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import check_requirement

Versions({"ray": "2"}, "0.11")
check_requirement(sys.argv[1])
print(*({"packaging", "importlib.metadata", "pathlib", "json"} & set(sys.modules)))

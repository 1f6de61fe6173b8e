"""Arms a process as `patchkit/runtime/bootstrap/run` does: patchkit 0.2.0 had that folder here.

Its pages named this one for PYTHONPATH. Without this file, such processes would run unpatched.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as in `run`
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
_RUN = os.path.join(_PACKAGE, "runtime", "bootstrap", "run")  # noqa: PTH118

# `run` takes this folder's place, so that it finds the `sitecustomize` that is hidden behind it.
for _index, _folder in enumerate(sys.path):
    if os.path.abspath(_folder) == _HERE:  # noqa: PTH100
        sys.path[_index] = _RUN
# As long as `sys.modules` has this module by that name, the import below would return it.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401

"""
Upstream: torch knows the name of an out-of-tree device only once its backend was imported, and
imports backends by itself only where they are installed for autoload and autoload is on
(`TORCH_DEVICE_BACKEND_AUTOLOAD`, torch >= 2.5). vLLM's child processes import nothing else before
they unpickle `torch.device("npu")`.
"""

from patchkit.runtime.reach.device_backend import import_backend, is_installed

__all__ = ["import_backend", "is_installed"]

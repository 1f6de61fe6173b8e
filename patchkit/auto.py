"""Import it, and this process and all that it starts are patched."""

from patchkit.process import arm

session = arm()

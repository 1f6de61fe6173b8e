"""Import it, and this process and all that it starts are patched."""

from patchkit.runtime.reach.arming import arm

session = arm()

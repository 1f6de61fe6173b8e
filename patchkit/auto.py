"""Import it, and this process and all that it starts are patched."""

from patchkit.reach.arming import arm

session = arm()

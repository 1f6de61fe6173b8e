from up import lib, user
from up.lib import C

if hasattr(lib, "Registry"):
    lib.Registry.register_model("a", C)
C.new = 1

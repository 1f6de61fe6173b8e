from up import lib, user
from up.lib import C

vars(lib)["".join("ex")] = 2
C.new = 1

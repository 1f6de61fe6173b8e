from up import lib
from up.lib import C

for key in "a b".split():
    lib.TABLE[key] = 2
lib.TABLE[5] = 1
C.new = 1

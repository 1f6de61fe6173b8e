from up import lib, user
from up.lib import C

while True:
    setattr(C, "size", 2)
    break
C.new = 1

from up import lib, user
from up.lib import C

while True:
    C.size = 1
    break
C.new = 1

from up import lib, user
from up.lib import C

def start():
    if lib: C.m = lambda self, a, b=0: 0


start()

from up import lib

lib.C.m = eval("lambda self, a, b=0: ('new', a)")

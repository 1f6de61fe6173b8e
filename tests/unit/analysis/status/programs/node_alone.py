import sys

source = open(sys.argv[1]).read()
sys.modules["patchkit"] = None
names = {}
exec(compile(source, "node", "exec"), names)
print(names["look"](".")["host"])

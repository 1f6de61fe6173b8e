import json, os, patchkit.auto
from up.mod import function, other

function()
other()
if (pid := os.fork()) == 0:
    other()
    patchkit.auto.session.lookout.exit_code(0)
    os._exit(0)
os.waitpid(pid, 0)
print(json.dumps(pid))

"""A server that answers as one of completions does, once it has been asked for its health twice."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import probed_upstream as upstream


class Handler(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        if self.path == "/health":
            type(self).asked += 1
            self.answer(503 if self.asked < 2 else 200, {})
        else:
            self.answer(200, {"data": [{"id": "tiny"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        upstream.plain(1)
        print(self.path, body["model"], body.get("prompt"), flush=True)
        self.answer(400 if body.get("prompt") == "wrong" else 200, {})

    def answer(self, status, body):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


port = int(sys.argv[sys.argv.index("--port") + 1])
server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
try:
    server.serve_forever()
except KeyboardInterrupt:
    sys.exit(130)

"""A shop over REST, of Python's standard library alone.

It listens at $PORT and stops at SIGTERM.
"""

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ITEMS = {
    "a1": {"sku": "a1", "name": "Notebook", "cents": 450},
    "b2": {"sku": "b2", "name": "Pencil", "cents": 120},
    "c3": {"sku": "c3", "name": "Ruler", "cents": 300},
    "d4": {"sku": "d4", "name": "Eraser", "cents": 90},
}


class Shop(BaseHTTPRequestHandler):
    # HTTP/1.1 keeps connections open. HTTP/1.0, the default here, opens one for each call.
    protocol_version = "HTTP/1.1"

    # Send header and body in one packet. In two writes, the body could wait up to 40 ms for the
    # acknowledgement of the header, because http.server does not switch off Nagle's algorithm.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/healthz":
            return self.reply(200, {"status": "ok"})
        if path == "/items":
            return self.reply(200, {"items": list(ITEMS.values())})
        item = ITEMS.get(path.removeprefix("/items/"))
        if item is None:
            return self.reply(404, {"error": f"there is nothing at {path}"})
        return self.reply(200, item)

    def do_POST(self):
        # Always read the body, even if the request is wrong: the rest would be taken for the next request.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/items":
            return self.reply(404, {"error": f"nothing can be added at {self.path}"})
        try:
            given = json.loads(body)
            item = {"sku": str(given["sku"]), "name": str(given["name"]), "cents": int(given["cents"])}
        except (ValueError, KeyError, TypeError) as e:
            return self.reply(400, {"error": f"want JSON with sku, name and cents: {e!r}"})
        ITEMS[item["sku"]] = item
        return self.reply(201, item)

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass  # printing a line for each call would be measured too


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    host, port = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8080"))
    Server((host, port), Shop).serve_forever()

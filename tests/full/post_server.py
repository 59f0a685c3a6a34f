# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""post_server.py DIR: keeps in DIR/posted.gz what is sent to it; its port is in DIR/port. Called by service.sh."""
import http.server
import os
import sys


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1] + "/posted.gz", "ab") as f:
            f.write(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Server)
with open(sys.argv[1] + "/port.new", "w") as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
server.serve_forever()

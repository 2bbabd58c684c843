#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""net.py CERTIFICATE READY: a network of one machine, to be run in a network namespace of its own: a
name server on 127.0.0.53 that knows every name below .test as 127.0.0.1, a Docker engine without
containers on port 2375, and a web server with TLS on port 443 that has no file. CERTIFICATE is a file
of a key and its certificate. READY is made when all of them answer."""
import fcntl
import http.server
import pathlib
import socket
import ssl
import struct
import sys
import threading

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
A, TTL = 1, 60


class Engine(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"OK" if self.path == "/_ping" else b"[]"
        self.send_response(200)
        for line in ("Api-Version", "1.45"), ("Server", "Docker/99.0"), ("Content-Length", len(body)):
            self.send_header(*map(str, line))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Nothing(Engine):
    def do_GET(self):
        self.send_error(404)


def answer(query):
    """To a query with one question: 127.0.0.1 if it asks for an address of version 4; no other."""
    end = query.index(b"\0", 12) + 5
    asked, = struct.unpack("!H", query[end - 4:end - 2])
    known = query[12:end - 4].endswith(b"\4test\0")
    records = b"\xc0\x0c" + struct.pack("!HHIH4s", A, 1, TTL, 4, bytes((127, 0, 0, 1)))
    found = known and asked == A
    return query[:2] + struct.pack("!HHHHH", 0x8180 | (0 if known else 3), 1, int(found), 0, 0) + \
        query[12:end] + (records if found else b"")


def names(server):
    while True:
        query, client = server.recvfrom(512)
        server.sendto(answer(query), client)


def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.53", 53))
    engine = http.server.ThreadingHTTPServer(("127.0.0.1", 2375), Engine)
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 443), Nothing)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    web.socket = context.wrap_socket(web.socket, server_side=True)
    for serve in (lambda: names(server)), engine.serve_forever:
        threading.Thread(target=serve, daemon=True).start()
    pathlib.Path(sys.argv[2]).touch()
    web.serve_forever()


if __name__ == "__main__":
    main()

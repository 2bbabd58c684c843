#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""engine.py SOCKET LIST: as much of a Docker engine as `ls` needs. LIST is the answer to the list of
containers; the first digit of a container's id says how its files are looked at: 0 nothing there,
1 the service, 2 error 500, 3 no answer, 4 hang up, 5 the engine dies. SERVER names another engine
than one of the future; one container of it runs and has mounts if its id begins with 6, runs if not."""
import base64
import json
import os
import socket
import sys
import threading
import time

SHA256 = "ab" * 32
STAT = base64.b64encode(json.dumps({"name": "current", "size": 64, "mode": 0o777 | 1 << 27,
                                    "linkTarget": "/.sbinject/" + SHA256}).encode()).decode()


def answer(method, path):
    """The reply to a request; None to hang up."""
    how = path.split("/containers/")[-1][0]
    if path == "/_ping":
        server = os.environ.get("SERVER", "Docker/99.0")
        return "200 OK", "Api-Version: 1.45\r\nServer: %s\r\n" % server, "OK"
    if path.split("?")[0].endswith("/containers/json"):
        with open(sys.argv[2]) as file:
            return "200 OK", "", file.read()
    if path.endswith("/json") and len(path.split("/")[-2]) == 64:
        return "200 OK", "", json.dumps({
            "Id": path.split("/")[-2], "State": {"Status": "running"},
            "Mounts": [{"Type": "volume", "Destination": "/data"}] if how == "6" else []})
    if method == "HEAD" and how == "1":
        return "200 OK", "X-Docker-Container-Path-Stat: %s\r\n" % STAT, ""
    if how == "2":
        return "500 Internal Server Error", "", ""
    if how == "3":
        time.sleep(60)
    if how == "4":
        return None
    if how == "5":
        os.unlink(sys.argv[1])
        os._exit(0)
    return "404 Not Found", "", ""


def serve(connection):
    data = b""
    while True:
        more = connection.recv(65536)
        data += more
        if not more:
            break
        if b"\r\n\r\n" not in data:
            continue
        method, path = data.decode().split()[:2]
        print(method, path, file=sys.stderr, flush=True)
        reply = answer(method, path)
        data = b""
        if not reply:
            break
        body = reply[2].encode()
        length = "Content-Length: %d\r\n" % len(body)
        connection.sendall(("HTTP/1.1 %s\r\n%s%s\r\n" % (reply[0], reply[1], length)).encode() + body)
    connection.close()


server = socket.socket(socket.AF_UNIX)
# Whoever waits for the socket finds one that listens.
server.bind(sys.argv[1] + ".new")
server.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    client, _ = server.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()

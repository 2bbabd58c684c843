# SPDX-License-Identifier: MIT
"""Long replies in pieces, as inspect_ai asks the program in the container for them.

Over the channel a reply comes whole; the limit for the output of a command still holds for it. So it
is kept here, and handed out piece by piece.
"""

import base64
import json
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

LIMIT = "INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES"
METHOD = "__inspect_json_rpc_response_chunk__"
ENVELOPE = 512
"""Bytes of a reply around a piece, at most."""
KEPT_MAX = 16
"""Replies that are kept; of more, whoever asked for the oldest has given up."""

INVALID_PARAMS = -32602
SERVER_ERROR = -32000


class Pieces:
    """The long replies from one container."""

    def __init__(self) -> None:
        self.kept: OrderedDict[str, bytes] = OrderedDict()

    def first(self, request: Mapping[str, Any], reply: str, limit: int) -> str:
        """The reply, or its first piece if it is longer than the limit."""
        data = reply.encode()
        if len(data) < limit or "id" not in request:
            return reply
        handle = secrets.token_hex(16)
        self.kept[handle] = data
        if len(self.kept) > KEPT_MAX:
            self.kept.popitem(last=False)
        return self._piece(request, handle, 0, limit)

    def answer(self, request: Mapping[str, Any], limit: int) -> str:
        """To a request for another piece."""
        params = request.get("params")
        handle = params.get("handle") if isinstance(params, dict) else None
        if not isinstance(handle, str) or not isinstance(params, dict):
            return self._error(request, INVALID_PARAMS, "invalid chunk handle")
        if params.get("release"):
            self.kept.pop(handle, None)
            return json.dumps({"jsonrpc": "2.0", "result": None, "id": request.get("id")})
        offset = params.get("offset")
        if handle not in self.kept:
            return self._error(request, SERVER_ERROR, "chunk handle not found")
        if type(offset) is not int or not 0 <= offset < len(self.kept[handle]):
            return self._error(request, INVALID_PARAMS, "invalid chunk offset")
        return self._piece(request, handle, offset, limit)

    def _piece(self, request: Mapping[str, Any], handle: str, offset: int, limit: int) -> str:
        data = self.kept[handle]
        room = (limit - ENVELOPE) // 4 * 3
        if room <= 0:
            return self._error(request, SERVER_ERROR, "the output limit has no room for a reply")
        piece = data[offset : offset + room]
        end = offset + len(piece)
        chunk = {
            "version": 1,
            "handle": handle,
            "offset": offset,
            "next_offset": end,
            "total_size": len(data),
            "done": end == len(data),
            "chunk": base64.b64encode(piece).decode(),
        }
        return json.dumps({"jsonrpc": "2.0", METHOD: chunk, "id": request.get("id")})

    def _error(self, request: Mapping[str, Any], code: int, message: str) -> str:
        error = {"code": code, "message": message}
        return json.dumps({"jsonrpc": "2.0", "error": error, "id": request.get("id")})

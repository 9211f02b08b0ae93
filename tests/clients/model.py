"""A model that plays a script: just enough of the Messages API for Claude Code to talk to.

It listens on loopback, and keeps what it was sent. A request with tools gets the next step of the
script: the one after as many tool results as the conversation holds, so that a repeated request gets
the same answer. Requests without tools (titles, summaries) get a word.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model asks for a tool to be called."""

    name: str
    arguments: Mapping[str, object]


@dataclass(slots=True)
class ScriptedModel:
    """The script, and the conversations that were held with it."""

    script: Sequence[ToolUse]
    url: str = ""
    requests: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def tools(self) -> set[str]:
        """The tools the model was offered."""
        return {tool["name"] for request in self.requests for tool in request.get("tools", ())}

    @property
    def results(self) -> Sequence[str]:
        """What the tools answered, as the model got it, in the longest conversation."""
        return max((_tool_results(request) for request in self.requests), key=len, default=[])

    def reply(self, request: Mapping[str, Any]) -> Block:
        """The block that answers a request."""
        self.requests.append(request)
        done = len(_tool_results(request))
        if not request.get("tools") or done >= len(self.script):
            return {"type": "text", "text": "Done."}
        step = self.script[done]
        return {"type": "tool_use", "id": f"toolu_{done}", "name": step.name, "input": step.arguments}


@contextmanager
def playing(script: Sequence[ToolUse]) -> Iterator[ScriptedModel]:
    """A model that listens until the block ends."""
    model = ScriptedModel(script)

    class Messages(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path.split("?")[0] != "/v1/messages":
                return self._answer("application/json", json.dumps({"input_tokens": 1}))
            events = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                for event in _events(model.reply(json.loads(body)))
            )
            return self._answer("text/event-stream", events)

        def do_HEAD(self) -> None:
            self._answer("text/plain", "")

        def _answer(self, content_type: str, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *told: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Messages) as server:
        model.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            server.shutdown()


def _tool_results(request: Mapping[str, Any]) -> list[str]:
    """What the tools answered so far; blocks that are no text are left out."""
    return [
        content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
        for content in [block["content"]]
    ]


def _events(block: Block) -> Iterator[Mapping[str, Any]]:
    """A whole reply of one block, as the stream spells it."""
    is_tool = block["type"] == "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        },
    }
    empty = {**block, "input": {}} if is_tool else {**block, "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if is_tool
        else {"type": "text_delta", "text": block["text"]}
    )
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if is_tool else "end_turn"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": usage,
    }
    yield {"type": "message_stop"}

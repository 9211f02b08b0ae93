"""A tool that takes as long as a test wants, among the real ones."""

import threading

from mcp.types import ToolAnnotations

from backstory.engine import Engine
from backstory.mcp.answers import Answer
from backstory.mcp.arguments import Arguments
from backstory.mcp.calls import Call
from backstory.mcp.face import Face
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools import TOOLS


class Nothing(Arguments):
    """Takes nothing."""


class Count(Answer):
    """How far it came."""

    steps: int


class Counting:
    """A tool that goes on until it is stopped or has done its steps, and who watches it."""

    def __init__(self, engine: Engine, steps: int | None) -> None:
        self.steps = steps
        self.started = threading.Event()
        self.ended = threading.Event()
        self.calls: list[Call] = []
        tool = Tool(
            name="count",
            title="Count",
            description="Counts.",
            toolsets=("core",),
            annotations=ToolAnnotations(read_only_hint=True),
            arguments=Nothing,
            answer=Count,
            function=self.count,
            render=lambda answer: str(answer.steps),
        )
        self.face = Face(engine, observe=self.observe, tools={**TOOLS, "count": tool})

    def count(self, request: Request, asked: Nothing) -> Count:
        done = 0
        while self.steps is None or done < self.steps:
            done += 1
            request.work.step(done, self.steps, f"counted {done}")
            self.started.set()
        return Count(steps=done)

    def observe(self, call: Call) -> None:
        self.calls.append(call)
        self.ended.set()

"""A short run of the search for bytes that break the reader, the same each time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("atheris")

TARGET = Path(__file__).with_name("fuzz_reader.py")
RUNS = 3000
SEEDS: dict[str, list[object]] = {
    "claude": [
        {"type": "user", "uuid": "u1", "message": {"content": "why?"}, "cwd": "/w", "sessionId": "s1"},
        {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "message": {
                "id": "m1",
                "usage": {"output_tokens": 3},
                "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
            },
        },
        {
            "type": "user",
            "uuid": "u2",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]},
        },
        {"type": "queue-operation", "operation": "enqueue", "content": "and?"},
        {"type": "attachment", "uuid": "q1", "attachment": {"type": "queued_command", "prompt": "and?"}},
    ],
    "codex": [
        {"timestamp": "2026-01-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s1", "cwd": "/w"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "why?"}},
        {
            "type": "response_item",
            "payload": {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c1", "output": "x"},
        },
    ],
}


def test_a_few_thousand_tries_find_nothing(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    for name, records in SEEDS.items():
        lines = [json.dumps(record, separators=(",", ":")) + "\n" for record in records]
        (seeds / name).write_text("".join(lines), "utf-8")
        for number, line in enumerate(lines):
            (seeds / f"{name}-{number}").write_text(line, "utf-8")
    command = [sys.executable, str(TARGET), f"-runs={RUNS}", "-seed=1", "-max_len=4096", str(seeds)]

    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    assert ran.returncode == 0, ran.stderr[-3000:]
    assert f"Done {RUNS} runs" in ran.stderr

"""What a line of the log looks like, and what never stands in it."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backstory.errors import StoreReadOnly
from backstory.http import logs
from backstory.http.logs import FILE, logger, logging_to
from backstory.settings import read_settings
from backstory.settings.catalogue import Log

FIELDS = ["timestamp", "level", "component", "operation", "event", "context"]


def log_settings(**variables: str) -> Log:
    return read_settings({"BACKSTORY_HOME": "/nowhere", **variables}).log


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text("utf-8").splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with logging_to(tmp_path, log_settings(), stderr=False):
        yield tmp_path


def fail_with(text: str) -> None:
    try:
        int(text)
    except ValueError as error:
        raise RuntimeError(f"cannot use {text}") from error


def test_a_line_is_json_with_all_its_fields(folder: Path) -> None:
    logger("process").info("started", operation="serve", context={"port": 1})

    (line,) = lines_of(folder)
    assert list(line) == FIELDS
    assert (line["level"], line["component"], line["operation"]) == ("info", "process", "serve")
    assert (line["event"], line["context"]) == ("started", {"port": 1})


def test_the_standard_library_s_records_become_lines_with_the_same_fields(folder: Path) -> None:
    logging.getLogger("backstory.adapters.x").warning("%d texts set aside", 3)

    (line,) = lines_of(folder)
    assert list(line) == FIELDS
    assert (line["component"], line["event"]) == ("backstory.adapters.x", "3 texts set aside")


def test_what_our_messages_are_filled_with_is_told_by_its_kind(folder: Path) -> None:
    log = logging.getLogger("backstory.adapters.x")
    log.warning("%s could not be read: %s (%s)", Path("cache.db"), ValueError("canary"), "canary")

    (line,) = lines_of(folder)
    assert line["event"] == "cache.db could not be read: ValueError (str)"


def test_a_message_that_is_filled_with_nothing_stays_as_it_is(folder: Path) -> None:
    logging.getLogger("backstory.adapters.x").warning("the disk is 100% full")

    (line,) = lines_of(folder)
    assert line["event"] == "the disk is 100% full"


@pytest.mark.parametrize("name", ["mcp.server.x", "uvicorn.error", "sqlalchemy.engine", "asyncio"])
def test_a_library_s_message_is_only_told_of(folder: Path, name: str) -> None:
    logging.getLogger(name).warning("Invalid Host header: canary")
    logging.getLogger(name).warning("Rejected %s", "canary")

    for line in lines_of(folder):
        assert line["component"] == name
        assert "canary" not in json.dumps(line)
        assert line["context"]["at"].startswith("test_http_logs.py:")


def test_what_libraries_tell_at_leisure_is_left_out(folder: Path) -> None:
    logging.getLogger("mcp.server.x").info("Rejected request with unknown session ID: canary")

    assert lines_of(folder) == []


@pytest.mark.parametrize("name", ["backstory.http.x", "uvicorn.error"])
def test_an_exception_is_told_by_its_type_and_place(folder: Path, name: str) -> None:
    try:
        fail_with("canary")
    except RuntimeError:
        logging.getLogger(name).exception("it failed")

    (line,) = lines_of(folder)
    error = line["context"]["error"]
    assert (error["type"], error["causes"]) == ("RuntimeError", ["ValueError"])
    assert error["frames"][-1].endswith(" fail_with")
    assert "canary" not in json.dumps(line)


def test_at_debug_the_full_text_follows_on_a_line_of_its_own(tmp_path: Path) -> None:
    with logging_to(tmp_path, log_settings(LOG_LEVEL="DEBUG"), stderr=False):
        try:
            fail_with("canary")
        except RuntimeError:
            logging.getLogger("uvicorn.error").exception("it failed: canary")

    warned, full = lines_of(tmp_path)
    assert (warned["level"], full["level"]) == ("error", "debug")
    assert "canary" not in json.dumps(warned)
    assert "cannot use canary" in full["event"]


def test_a_level_leaves_out_what_is_below_it(tmp_path: Path) -> None:
    with logging_to(tmp_path, log_settings(LOG_LEVEL="ERROR"), stderr=False):
        logger("http").warning("refused", operation="guard")
        logging.getLogger("mcp").warning("x")
        logger("http").error("broken", operation="guard")

    assert [line["event"] for line in lines_of(tmp_path)] == ["broken"]


def test_text_can_be_had_in_place_of_json(tmp_path: Path) -> None:
    with logging_to(tmp_path, log_settings(LOG_FORMAT="text"), stderr=False):
        logger("process").info("started", operation="serve", context={"port": 1})

    line = (tmp_path / FILE).read_text("utf-8")
    assert "started" in line
    assert not line.startswith("{")


def test_a_person_who_watches_sees_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(tmp_path, log_settings(), stderr=True):
        logger("process").info("started", operation="serve")

    assert json.loads(capsys.readouterr().err)["event"] == "started"


def test_the_log_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 2_000)
    with logging_to(tmp_path, log_settings(), stderr=False):
        for number in range(200):
            logger("process").info("line", operation="test", context={"number": number})

    files = sorted(each.name for each in tmp_path.iterdir())
    assert files == [FILE, *(f"{FILE}.{number}" for number in range(1, 5))]
    assert all(each.stat().st_size <= 2_000 for each in tmp_path.iterdir())


def test_afterwards_logging_is_as_it_was(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    with logging_to(tmp_path, log_settings(LOG_LEVEL="DEBUG"), stderr=True):
        pass

    assert (root.level, root.handlers) == before


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")

    with pytest.raises(StoreReadOnly) as caught, logging_to(tmp_path / "logs", log_settings(), stderr=False):
        pass

    assert caught.value.hint

"""What is switched off and on in the config file while the process runs."""

import os
from pathlib import Path

import pytest

from backstory.model.live import Switches
from backstory.settings import read_settings
from backstory.settings.switches import FollowedSwitches

ON, NO_WRITES, NO_MEANING = Switches(), Switches(vector_writes=False), Switches(semantic_search=False)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def followed(config: Path, **variables: str) -> FollowedSwitches:
    return FollowedSwitches(read_settings({"BACKSTORY_HOME": str(config.parent), **variables}))


def test_everything_is_on_unless_somebody_says_otherwise(config: Path) -> None:
    assert followed(config)() == ON


def test_a_change_of_the_file_counts_from_the_next_call_on(config: Path) -> None:
    switches = followed(config)

    config.write_text("[search]\nvector_writes = false\n")
    assert switches() == NO_WRITES
    config.write_text("[search]\nsemantic = false\n")
    assert switches() == NO_MEANING
    config.unlink()
    assert switches() == ON


def test_a_file_that_is_swapped_for_one_of_the_same_size_and_age_is_read_again(config: Path) -> None:
    config.write_text("[search]\nvector_writes = false # \n")
    switches = followed(config)
    assert switches() == NO_WRITES
    other = config.with_name("other.toml")
    other.write_text("[search]\nvector_writes = true  # \n")
    known = config.stat()
    os.utime(other, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert other.stat().st_size == known.st_size

    other.replace(config)

    assert switches() == ON


def test_a_file_that_changed_after_the_settings_were_read_is_not_missed(config: Path) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(config.parent)})
    config.write_text("[search]\nvector_writes = false\n")

    assert FollowedSwitches(settings)() == NO_WRITES


def test_what_the_environment_says_wins_and_stays(config: Path) -> None:
    switches = followed(config, ENABLE_QDRANT_WRITES="false")

    config.write_text("[search]\nvector_writes = true\nsemantic = false\n")

    assert switches() == Switches(vector_writes=False, semantic_search=False)


@pytest.mark.parametrize("broken", ["[search", "[search]\nsemantic = 'perhaps'", "[search]\nsematic = true"])
def test_while_the_file_cannot_be_understood_everything_stays_as_it_was(config: Path, broken: str) -> None:
    config.write_text("[search]\nvector_writes = false\n")
    switches = followed(config)
    assert switches() == NO_WRITES

    config.write_text(broken)
    assert switches() == NO_WRITES
    config.write_text("[search]\nvector_writes = true\n")
    assert switches() == ON


def test_the_file_that_is_followed_is_the_one_that_is_named(tmp_path: Path, config: Path) -> None:
    named = tmp_path / "elsewhere" / "own.toml"
    named.parent.mkdir()
    named.write_text("")
    switches = followed(config, BACKSTORY_CONFIG=str(named))
    assert switches() == ON

    config.write_text("[search]\nvector_writes = false\n")
    assert switches() == ON
    named.write_text("[search]\nsemantic = false\n")
    assert switches() == NO_MEANING
    named.unlink()
    assert switches() == NO_MEANING

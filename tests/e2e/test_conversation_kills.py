"""Live conversations whose process is killed again and again: what was acknowledged is kept and found."""

from pathlib import Path

import pytest

from backstory.actions.projection.reconcile import Reconciled
from backstory.wiring import open_engine

from .turn_killing import Kept, broken, disagreements, talk_and_kill
from .turn_writer import settings_for

KILLS = 20


@pytest.mark.parametrize("storage", ["records", "jsonl"])
def test_every_acknowledged_turn_is_there_in_order_once_and_found_however_often_the_process_is_killed(
    home: Path, storage: str
) -> None:
    kept = Kept()
    for seed in range(KILLS):
        talk_and_kill(home, storage, seed, kept)

    with open_engine(settings_for(str(home), storage)) as engine:
        assert broken(engine, kept) == []
        assert disagreements(engine) == Reconciled(0, 0)
    assert len(kept.places) > KILLS

"""What was said day by day."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.conversation import Day
from backstory.model.project import Scope

DEFAULT_DAYS: Final = 7
MAX_DAYS: Final = 3_650


def timeline(engine: Engine, scope: Scope, *, days: int = DEFAULT_DAYS) -> Sequence[Day]:
    """The last so many days, today among them, on which anything was said; the newest first."""
    if not 1 <= days <= MAX_DAYS:
        raise InputError(f"days {days} is not between 1 and {MAX_DAYS}", hint=f"use {DEFAULT_DAYS}")
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with engine.records.reading() as records:
        return records.conversations.timeline(scope, today - timedelta(days=days - 1))

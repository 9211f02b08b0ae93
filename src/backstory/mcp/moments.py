"""Times as agents write them: ISO 8601, a date alone, with a zone or in UTC."""

from datetime import UTC, date, datetime, timedelta

from backstory.errors import InputError


def since(text: str) -> datetime:
    """The moment a text names; a date alone is its beginning."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(
            f"{text[:60]!r} is no time", hint="write it like 2026-03-01 or 2026-03-01T09:30:00+01:00"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def until(text: str) -> datetime:
    """The moment a text names; a date alone is its end."""
    moment = since(text)
    return moment + timedelta(days=1, microseconds=-1) if _is_date(text) else moment


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text.strip())
    except ValueError:
        return False
    return True

"""What may be written into a live conversation, and how it looks without its secrets.

Texts, names and metadata are redacted. What names something (a room, a user) must stay what it is, or two
could become one: it is refused if it holds a secret.
"""

import json
from collections.abc import Mapping
from typing import Final

from backstory.errors import InputError
from backstory.model.live import Metadata
from backstory.model.memory import json_problems
from backstory.transcripts.redaction import redacted

MAX_TEXT_BYTES: Final = 1_000_000
MAX_METADATA_BYTES: Final = 16_384
MAX_TITLE_CHARS: Final = 200
MAX_NAME_CHARS: Final = 200


def text(what: str, given: str) -> str:
    """A text of any length that can be kept, without its secrets."""
    try:
        size = len(given.encode())
    except UnicodeEncodeError as error:
        raise InputError(f"the {what} is not valid Unicode text", hint="remove lone surrogates") from error
    if size > MAX_TEXT_BYTES:
        raise InputError(
            f"the {what} has {size:,} bytes, more than {MAX_TEXT_BYTES:,}",
            hint="keep what was said, and leave files and logs out",
        )
    return str(redacted(given.replace("\0", "")).text)


def line(what: str, given: str, most_chars: int) -> str:
    """A short text on one line, without its secrets; it may be empty.

    What is not printable would move the cursor of a terminal that shows it.
    """
    clean = "".join(filter(str.isprintable, " ".join(text(what, given).split())))
    if len(clean) > most_chars:
        raise InputError(f"the {what} has more than {most_chars} characters", hint="give a shorter one")
    return clean


def name(what: str, given: str, most_chars: int) -> str:
    """What names something, as it was given; it may be empty."""
    if not given.isprintable() or len(given) > most_chars:
        raise InputError(
            f"the {what} is not a printable text of at most {most_chars} characters", hint="use a short id"
        )
    if redacted(given).counts:
        raise InputError(f"the {what} looks like a secret, and is not kept", hint="use another id for it")
    return given


def needed(what: str, given: str) -> str:
    """What was given, unless it is blank."""
    if not given.strip():
        raise InputError(f"the {what} is empty", hint=f"give the {what}")
    return given


def metadata(given: Metadata) -> Metadata:
    """A JSON object, without the secrets in its values."""
    for problem in json_problems(given):
        raise InputError(problem.what, hint=problem.remedy)
    clean = {_redacted(key): _clean(key, value) for key, value in given.items()}
    check_size(clean)
    return clean


def check_size(metadata: Metadata) -> None:
    """Refuse metadata that is too large, all in all."""
    if len(json.dumps(metadata, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise InputError(
            f"the metadata is larger than {MAX_METADATA_BYTES:,} bytes",
            hint="keep only what somebody will filter by",
        )


def _clean(key: str, value: object) -> object:
    """A value without secrets; some are known by the key that they stand under."""
    if isinstance(value, str):
        alone = _redacted(value)
        named = redacted(f'{key}: "{value}"').counts if alone == value else {}
        return f"[redacted: {next(iter(named))}]" if named and not redacted(key).counts else alone
    if isinstance(value, Mapping):
        return {_redacted(inner): _clean(inner, each) for inner, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(key, each) for each in value]
    return value


def _redacted(text: str) -> str:
    return str(redacted(text).text)

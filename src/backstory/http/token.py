"""The secret by which programs of the same user reach the process.

It lies in a file that only the user can read, and is kept over restarts so that clients that were
told of it go on. One that others could have read is replaced.
"""

import os
import secrets
import stat
import sys
from pathlib import Path
from typing import Final

from backstory.errors import StoreReadOnly

#: 32 random bytes in URL-safe characters.
LENGTH: Final = 43


def read_or_make_token(path: Path) -> str:
    """The token in the file; a new one if there is none, or if it is too short or others can read it."""
    try:
        return _kept(path) or _made(path)
    except OSError as error:
        raise StoreReadOnly(
            f"the token file {path} cannot be used: {error.strerror}",
            hint="make it readable and writable for you alone, or delete it: a new one is made",
        ) from error


def _kept(path: Path) -> str | None:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            shared = os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO)
            token = file.read(1024).strip()
    except FileNotFoundError:
        return None
    if shared and sys.platform != "win32":  # where the mode says nothing of who can read
        return None
    return token if len(token) >= LENGTH and token.isascii() and token.isprintable() else None


def _made(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    path.unlink(missing_ok=True)
    # Made with its mode, so that at no moment anybody else can open it.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token)
    return token

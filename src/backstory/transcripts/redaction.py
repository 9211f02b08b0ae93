"""Takes secrets out of text before anything is stored.

Three ways to know a secret: by its shape (`ghp_…`, private key blocks, JWTs), by where it stands
(an authorization header, a URL's user part, the right side of `password =`), or by the writer's
word (`<private>…</private>`). Precision comes first: a text that is damaged here is damaged for
good, so what stands beside a name must also look random, and hashes and UUIDs without such a name
are left alone. Which texts are redacted, and when, is left to the callers.

Every pattern runs in linear time: its repetitions are bounded, possessive, or of characters that
cannot begin what follows them, and none begins again inside what it has just refused.
"""

import binascii
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple


class Safe(str):
    """A text without secrets. It is known by its type, so it is not looked through again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and how many of each kind were taken out."""

    text: Safe
    counts: Mapping[str, int]


#: What stands in the place of a secret, with its kind.
MARK: Final = re.compile(r"\[redacted: ([a-z ]{2,30})\]")


class _Secret(NamedTuple):
    start: int
    end: int
    kind: str


def redacted(text: str) -> Redacted:
    """Replace each secret by `[redacted: kind]`. Redacting the result again changes nothing."""
    if isinstance(text, Safe):
        return Redacted(text, {})
    counts: Counter[str] = Counter()
    # Once more after each change: a replacement may part what was one word before.
    while secrets := _without_overlaps(_secrets(text)):
        counts.update(secret.kind for secret in secrets)
        text = _replaced(text, secrets)
    return Redacted(Safe(text), dict(counts))


def reaches_over_lines(text: str) -> bool:
    """Whether a secret in a text may have more than one line. All others are known by their line alone."""
    return "PRIVATE KEY" in text or "private>" in text


def _secrets(text: str) -> Iterator[_Secret]:
    """Every secret, the surest sign first: where two overlap, the first names the kind."""
    # lower() keeps the length of every character but this one, and positions must stay the same.
    lowered = text.replace("\u0130", "I").lower()
    return chain(
        _private_parts(text),
        _private_keys(text),
        _shaped(text),
        _in_urls(text),
        _in_authorizations(text, lowered),
        _assigned(text, lowered),
    )


def _without_overlaps(secrets: Iterator[_Secret]) -> list[_Secret]:
    """In order of place; what overlaps becomes one, of the kind that was found first."""
    merged: list[tuple[int, _Secret]] = []
    for rank, secret in sorted(enumerate(secrets), key=lambda ranked: ranked[1].start):
        if not merged or secret.start >= merged[-1][1].end:
            merged.append((rank, secret))
            continue
        before_rank, before = merged[-1]
        kind = min((before_rank, before.kind), (rank, secret.kind))[1]
        merged[-1] = (min(before_rank, rank), _Secret(before.start, max(before.end, secret.end), kind))
    return [secret for _, secret in merged]


def _replaced(text: str, secrets: list[_Secret]) -> str:
    pieces, end = [], 0
    for secret in secrets:
        pieces += [text[end : secret.start], f"[redacted: {secret.kind}]"]
        end = secret.end
    return "".join([*pieces, text[end:]])


# Lower case only: project files of .NET say <Private>False</Private>. A tag alone in backticks is
# a word about the tag, not a use of it.
_PRIVATE_TAG: Final = re.compile(r"<(?!(?<=`<)/?private>`)(/?)private>")


def _private_parts(text: str) -> Iterator[_Secret]:
    """What the writer marked; a mark that is never closed reaches to the end of the text."""
    depth = start = 0
    for tag in _PRIVATE_TAG.finditer(text):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield _Secret(start, tag.end(), "private")
    if depth:
        yield _Secret(start, len(text), "private")


_KEY_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BYTES: Final = re.compile(r"[A-Za-z0-9+/]{16}")
_GAP: Final = r"""[\s\\"',|>]{1,40}+"""
#: What follows the first line of a key: how it is encrypted, if it tells that, and the key.
_KEY_LINES: Final = re.compile(
    rf"(?:{_GAP}[A-Z][A-Za-z-]{{2,20}}:[ ][^\n\\]{{0,80}})*+"
    rf"(?:{_GAP}[A-Za-z0-9+/=]{{16,}}+)++(?:{_GAP}[A-Za-z0-9+/]{{1,15}}+={{1,2}})?"
)
#: What comes before the last line of a key, read backwards from there.
_KEY_LINES_BACK: Final = re.compile(rf"n?(?:{_GAP}[A-Za-z0-9+/=]++)?(?:{_GAP}[A-Za-z0-9+/=]{{16,}}+)*+")
#: A key of 16,384 bits, the longest in use, has 13,000 characters.
_KEY_CHARS: Final = 16_000


def _private_keys(text: str) -> Iterator[_Secret]:
    """Private key blocks; one that is cut off at an end reaches as far as its lines do."""
    if "PRIVATE KEY" not in text:
        return
    begins = list(_KEY_BEGIN.finditer(text))
    for place, begin in enumerate(begins):
        limit = begins[place + 1].start() if place + 1 < len(begins) else len(text)
        closed = _KEY_END.search(text, begin.end(), limit)
        if closed and _KEY_BYTES.search(text, begin.end(), closed.start()):
            yield _Secret(begin.start(), closed.end(), "private key")
        elif not closed and (lines := _KEY_LINES.match(text, begin.end(), limit)):
            yield _Secret(begin.start(), lines.end(), "private key")
    yield from _ends_of_keys(text)


def _ends_of_keys(text: str) -> Iterator[_Secret]:
    """What there is of private keys whose first line is not there."""
    behind = 0
    for end in _KEY_END.finditer(text):
        before = text[max(behind, end.start() - _KEY_CHARS) : end.start()]
        behind = end.end()
        lines = _KEY_LINES_BACK.match(before[::-1])
        if lines and _KEY_BYTES.search(lines[0]):
            yield _Secret(end.start() - lines.end(), end.end(), "private key")


#: A kind, how its secrets begin, and how they go on.
_SHAPES: Final = (
    ("anthropic key", r"sk-ant-", r"[\w-]{20,}+"),
    ("openai key", r"sk-", r"(?:(?:proj|svcacct|admin|None)-[\w-]{20,}+|[A-Za-z0-9]{32,}+)"),
    ("api key", r"sk-", r"(?:or-v1|lf|litellm)-[\w-]{20,}+"),
    ("github token", r"gh[pousr]_", r"[A-Za-z0-9_]{36,}+"),
    ("github token", r"github_pat_", r"[A-Za-z0-9_]{36,}+"),
    ("gitlab token", r"gl(?:pat|cbt|ptt|imt|oas)-", r"[\w.-]{20,}+"),
    ("gitlab token", r"gl(?:dt|rt|ft)-", r"[\w.-]{20,}+"),
    ("aws key", r"A[KS]IA", r"[A-Z2-7]{16}"),
    ("google key", r"AIza", r"[\w-]{35}"),
    ("google token", r"ya29\.", r"[\w-]{20,}+"),
    ("google secret", r"GOCSPX-", r"[\w-]{28}"),
    ("slack token", r"xox[abeoprs]-", r"[\w-]{10,}+"),
    ("slack token", r"xapp-", r"\d-[\w-]{20,}+"),
    ("slack webhook", r"hooks\.slack\.com/", r"(?:services|workflows)/T\w{6,}+/[\w/]{20,}+"),
    ("discord webhook", r"/api/webhooks/", r"\d{15,22}/[\w-]{60,}+"),
    ("stripe key", r"sk_(?:live|test)_", r"[A-Za-z0-9]{16,}+"),
    ("stripe key", r"rk_(?:live|test)_", r"[A-Za-z0-9]{16,}+"),
    ("webhook secret", r"whsec_", r"[A-Za-z0-9+/]{24,}+={0,2}"),
    ("npm token", r"npm_", r"[A-Za-z0-9]{36}"),
    ("pypi token", r"pypi-A", r"[\w-]{50,}+"),
    ("hugging face token", r"hf_", r"[A-Za-z0-9]{30,}+"),
    ("sendgrid key", r"SG\.", r"[\w-]{16,32}\.[\w-]{32,64}"),
    ("twilio key", r"SK[0-9a-f]{4}", r"[0-9a-f]{28}"),
    ("api key", r"gsk_", r"[A-Za-z0-9]{40,}+"),
    ("api key", r"xai-", r"[A-Za-z0-9]{60,}+"),
    ("api key", r"pplx-", r"[A-Za-z0-9]{40,}+"),
    ("api key", r"r8_", r"[A-Za-z0-9]{37,}+"),
    ("api key", r"tvly-", r"[A-Za-z0-9-]{24,}+"),
    ("api key", r"lin_api_", r"[A-Za-z0-9]{32,}+"),
    ("api key", r"ntn_", r"[A-Za-z0-9]{40,}+"),
    ("api key", r"figd_", r"[\w-]{40,}+"),
    ("api key", r"sbp_", r"[0-9a-f]{40}"),
    ("api key", r"shp(?:at|ca|pa|ss)_", r"[0-9a-fA-F]{32}"),
    ("api key", r"do[opr]_v1_", r"[0-9a-f]{64}"),
    ("api key", r"dapi[0-9a-f]{4}", r"[0-9a-f]{28}(?:-\d)?"),
    ("api key", r"dckr_[po]at_", r"[\w-]{24,}+"),
    ("api key", r"ATATT3", r"[\w=-]{100,}+"),
    ("api key", r"hvs\.", r"[\w-]{24,}+"),
    ("api key", r"glsa_", r"[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    ("private key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    ("jwt", r"eyJ", r"(?<![\w-]eyJ)[\w-]{10,}+\.eyJ[\w-]{10,}+\.[\w-]{10,}+"),
    ("azure secret", r"sig=", r"[A-Za-z0-9%+/]{40,}+={0,2}"),
    ("telegram token", r":AA", r"(?<=[0-9]{8}:AA)[\w-]{33}"),
)


def _any_of(beginnings: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds whether a text has any beginning at all; most have none.

    Sorted by their first letters, which are looked at before: 15 ms a megabyte of Python code,
    against 30 for the plain list and 36 for a search of each (medians of five).
    """
    rests: defaultdict[str, list[str]] = defaultdict(list)
    for beginning in beginnings:
        rests[beginning[0]].append(beginning[1:])
    sorted_out = "|".join(f"{first}(?:{'|'.join(each)})" for first, each in rests.items())
    return re.compile(rf"\b(?=[{''.join(rests)}])(?:{sorted_out})", re.ASCII)


_ANY_BEGINNING: Final = _any_of(beginning for _, beginning, _ in _SHAPES)
_BY_SHAPE: Final = tuple(
    (kind, re.compile(rf"\b{beginning}(?:{rest})(?![A-Za-z0-9_])", re.ASCII))
    for kind, beginning, rest in _SHAPES
)
_AZURE_SECRET: Final = re.compile(r"(?<![\w.~-])[\w.~-]{3}[78]Q~[\w.~-]{31,34}(?![\w.~-])", re.ASCII)


def _shaped(text: str) -> Iterator[_Secret]:
    patterns = _BY_SHAPE if _ANY_BEGINNING.search(text) else ()
    if "Q~" in text:  # this shape alone has its mark in the middle
        patterns = (*patterns, ("azure secret", _AZURE_SECRET))
    for kind, pattern in patterns:
        for match in pattern.finditer(text):
            if _is_no_example(match[0]):
                yield _Secret(*match.span(), kind)


_EXAMPLE: Final = re.compile(
    r"(?i)\.\.\.|\u2026|x{4}|\*{3}|0{8}|12345678|abcdefgh|example|your|change.?me|placeholder|dummy|sample|redacted"
)


def _is_no_example(value: str) -> bool:
    return len(set(value)) >= 8 and not _EXAMPLE.search(value)


_URL_PASSWORD: Final = re.compile(r"""://[^\s/:@"'`<>]{0,64}:([^\s/"'`<>]{3,128})@(?=[\w.\[-])""")
_CONNECTION_PASSWORD: Final = re.compile(
    r""";[ ]?(?i:password|pwd)[ ]?=[ ]?([^\s;"'`<>]{4,128})(?=[\s;"'`]|$)"""
)


def _in_urls(text: str) -> Iterator[_Secret]:
    """Passwords in URLs and connection strings: the place says what they are, so short ones count."""
    for pattern in (_URL_PASSWORD, _CONNECTION_PASSWORD):
        for match in pattern.finditer(text):
            if not _STANDS_FOR_ANOTHER.search(match[1]):
                yield _Secret(*match.span(1), "password")


_STANDS_FOR_ANOTHER: Final = re.compile(
    r"""(?ix) ^[<$%*.\[] | [{}()] | \.\.\. | \u2026 | x{3} | \*{3} | 0{6} | 12345678 | abcdefgh | ://
    | your | example | change.?me | placeholder | dummy | sample | redacted | replace | todo | fake | mock
    | pass | pwd | secret | token | private | test | admin | root | guest | postgres
    | qwerty | process\.env | environ
    | ^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"""
)


def _in_authorizations(text: str, lowered: str) -> Iterator[_Secret]:
    for pattern, is_credential in _CREDENTIALS:
        for match in pattern.finditer(lowered):
            if is_credential(text[slice(*match.span(1))]):
                yield _Secret(*match.span(1), "authorization")


def _is_name_and_password(encoded: str) -> bool:
    """Whether this is base64 of `name:password`; "basic understanding" is not."""
    try:
        decoded = binascii.a2b_base64(encoded, strict_mode=True).decode("ascii").strip()
    except ValueError:
        return False
    return decoded.isprintable() and ":" in decoded


_BETWEEN: Final = r"""\\{0,3}["'`]?\]?[ \t]{0,20}(?::[ ]?[a-z]{1,12}[ ]?=(?!=)|[:=]{1,3}>?)[ \t]{0,20}"""
# A key may also open a map or sort a list; these are the ones that open doors.
_SECRET_KEY: Final = "|".join(
    f"(?<={word}{joint}key)"
    for word in ("api", "secret", "access", "private", "account", "auth", "encryption", "signing", "master")
    for joint in ("", "_", "-")
)
_NAMES: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("password", "passw(?:or)?d" + _BETWEEN),
        ("password", "passphrase" + _BETWEEN),
        ("password", "pwd" + _BETWEEN),
        ("secret", "secret" + _BETWEEN),
        # The name of a .NET assembly has a PublicKeyToken, which is a public hash.
        ("token", "token(?<!publickeytoken)" + _BETWEEN),
        ("key", f"key(?:{_SECRET_KEY})(?:_base)?" + _BETWEEN),
        ("password", "--[a-z-]{0,24}passw(?:or)?d[ ]"),
        ("token", "--[a-z-]{0,24}(?:token|secret|api-key)[ ]"),
    )
)
# A bare value ends at `=` and `:` too, so that no part of a text is looked at from many names.
_VALUE: Final = re.compile(
    r"""[bBrRfFuU]?\\{0,3}(?P<quote>["'`])(?P<quoted>[^\s"'`\\]{8,4096}+)\\{0,3}(?P=quote)
    |(?P<bare>[^\s"'`,;:=(){}\[\]<>&|\\]{8,4096}+={0,2})(?![(\[{])""",
    re.VERBOSE,
)


def _assigned(text: str, lowered: str) -> Iterator[_Secret]:
    """Literal values of names such as `DB_PASSWORD`, in code, env files, JSON, YAML and commands."""
    for kind, names in _NAMES:
        for name in names.finditer(lowered):
            value = _VALUE.match(text, name.end())
            if value and _is_secret_value(kind, name=text[slice(*name.span())], value=value):
                yield _Secret(*value.span(value.lastgroup or 0), kind)


def _is_secret_value(kind: str, *, name: str, value: re.Match[str]) -> bool:
    text = value[value.lastgroup or 0]
    if kind != "password":
        return _is_random(text)
    # NAME=value is an environment's, where a bare word is no variable.
    is_literal = value.lastgroup == "quoted" or (name.isupper() and name.endswith("="))
    return _is_password(text) and (is_literal or _is_mixed(text))


_SWITCH: Final = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_LETTER: Final = re.compile(r"[A-Za-z]")


def _is_random(value: str) -> bool:
    """Whether it looks made by a machine for nobody to read.

    Letters and digits alternate in every third place of random text, and next to never in names,
    versions and dates. Of keys of letters and digits 4 in 100 are missed at 20 characters, fewer
    than 1 at 32 or more; of hexadecimal ones 3 and none.
    """
    return (
        len(value) >= 16
        and len(_SWITCH.findall(value)) >= max(2, len(value) // 16)
        and len(_LETTER.findall(value)) >= 4
        and len(set(value)) >= 8
        and not _STANDS_FOR_ANOTHER.search(value)
    )


_SYMBOL: Final = re.compile(r"[0-9!@#$%^&*?+~]")


def _is_password(value: str) -> bool:
    return bool(_LETTER.search(value) and _SYMBOL.search(value) and not _STANDS_FOR_ANOTHER.search(value))


def _is_mixed(value: str) -> bool:
    """Whether it is more than a variable's name with a number at its end."""
    return not re.fullmatch(r"[\w.]+", value, re.ASCII) or len(_SWITCH.findall(value)) >= 2


_HEADER_VALUE: Final = (
    r"""authorization["'`\\]{0,4}[ ]{0,4}[:=][ ]{0,4}["'`\\]{0,4}(?:(?:token|apikey)[ ])?"""
)
_CREDENTIALS: Final[tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...]] = tuple(
    (re.compile(pattern, re.ASCII), is_credential)
    for pattern, is_credential in (
        (r"bearer[ \t]{1,4}([\w.~+/-]{16,}+={0,2})", _is_random),
        (_HEADER_VALUE + r"([\w.~+/-]{16,}+={0,2})", _is_random),
        (r"basic[ \t]{1,4}([a-z0-9+/]{8,}+={0,2})", _is_name_and_password),
        (r"""curl[ ][^\n]{0,200}?-u[ ]?["']?[\w.@-]{1,64}:([^\s"'`]{6,128})""", _is_password),
    )
)

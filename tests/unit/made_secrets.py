"""Secrets made up for tests: each kind by its shape, and the places by which others are known."""

import random
import string
from collections.abc import Callable

# No vowels: chance must not write a word such as "test", which tells that a value is none.
UPPER = "BCDFGHJKLMNQRSTVWZ"
WORD = UPPER + UPPER.lower() + string.digits
URL_SAFE = WORD + "-_"
HEX = "0123456789abcdef"


def made(chooser: random.Random, length: int, alphabet: str = WORD) -> str:
    """Random characters, a digit among letters every now and then, as in keys that machines make."""
    chosen = chooser.choices(alphabet, k=length)
    chosen[2:length:5] = chooser.choices("2345679", k=len(chosen[2:length:5]))
    chosen[0], chosen[-1] = "k", "k"
    return "".join(chosen)


def of_hex(chooser: random.Random, length: int) -> str:
    return "".join(chooser.choices(HEX, k=length))


def aws_id(chooser: random.Random) -> str:
    return "".join(chooser.choices(UPPER + "234567", k=16))


def jwt(chooser: random.Random) -> str:
    return f"eyJ{made(chooser, 20)}.eyJ{made(chooser, 60)}.{made(chooser, 43, URL_SAFE)}"


def key_block(chooser: random.Random) -> str:
    lines = "\n".join(made(chooser, 64, WORD + "+/") for _ in range(5))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"


SHAPES: dict[str, Callable[[random.Random], str]] = {
    "anthropic key": lambda c: f"sk-ant-api03-{made(c, 93, URL_SAFE)}AA",
    "openai key": lambda c: f"sk-proj-{made(c, 100, URL_SAFE)}",
    "openai key, old": lambda c: f"sk-{made(c, 48)}",
    "api key, openrouter": lambda c: f"sk-or-v1-{of_hex(c, 64)}",
    "github token": lambda c: f"ghp_{made(c, 36)}",
    "github token, fine-grained": lambda c: f"github_pat_{made(c, 22)}_{made(c, 59)}",
    "gitlab token": lambda c: f"glpat-{made(c, 20, URL_SAFE)}",
    "aws key": lambda c: f"AKIA{aws_id(c)}",
    "google key": lambda c: f"AIza{made(c, 35, URL_SAFE)}",
    "google token": lambda c: f"ya29.{made(c, 60, URL_SAFE)}",
    "google secret": lambda c: f"GOCSPX-{made(c, 28, URL_SAFE)}",
    "slack token": lambda c: f"xoxb-{c.randrange(10**11, 10**12)}-{made(c, 24)}",
    "slack webhook": lambda c: f"hooks.slack.com/services/T0{made(c, 8)}/B0{made(c, 8)}/{made(c, 24)}",
    "discord webhook": lambda c: f"discord.com/api/webhooks/{c.randrange(10**17, 10**18)}/{made(c, 68)}",
    "stripe key": lambda c: f"sk_live_{made(c, 24)}",
    "webhook secret": lambda c: f"whsec_{made(c, 32)}",
    "npm token": lambda c: f"npm_{made(c, 36)}",
    "pypi token": lambda c: f"pypi-AgEIcHlwaS5vcmc{made(c, 120, URL_SAFE)}",
    "hugging face token": lambda c: f"hf_{made(c, 34)}",
    "azure secret": lambda c: f"{made(c, 3)}8Q~{made(c, 34)}",
    "azure secret, signature": lambda c: f"sig={made(c, 43)}%3D",
    "sendgrid key": lambda c: f"SG.{made(c, 22, URL_SAFE)}.{made(c, 43, URL_SAFE)}",
    "twilio key": lambda c: f"SK{of_hex(c, 32)}",
    "telegram token": lambda c: f"{c.randrange(10**8, 10**9)}:AA{made(c, 33, URL_SAFE)}",
    "api key, groq": lambda c: f"gsk_{made(c, 52)}",
    "api key, digitalocean": lambda c: f"dop_v1_{of_hex(c, 64)}",
    "jwt": jwt,
    "private key": key_block,
    "private key, age": lambda c: f"AGE-SECRET-KEY-1{made(c, 58, UPPER).upper()}",
}

#: Texts with a place for a secret that has no shape of its own.
PLACES: dict[str, list[str]] = {
    "password": [
        'password = "{}"',
        "DB_PASSWORD={}",
        '{{"password": "{}"}}',
        r"{{\"password\": \"{}\"}}",
        "  password: {}",
        "mysql --password {} shop",
        "db_pwd: str = '{}'",
        "Server=db;User Id=sa;Password={};Encrypt=yes",
        "postgres://shop:{}@db.internal:5432/shop",
        "redis://:{}@cache",
    ],
    "token": [
        "export NPM_TOKEN={}",
        "token: '{}'",
        'config["token"] = "{}"',
        "tool --token {} run",
        "?access_token={}&page=2",
    ],
    "secret": ['client_secret: "{}"', "CLIENT_SECRET = {}", '"secret" => "{}"'],
    "key": ["AWS_SECRET_ACCESS_KEY={}", 'apiKey: "{}",', "x-api-key: {}", "AccountKey={};EndpointSuffix=x"],
    "authorization": [
        "Authorization: Bearer {}",
        "curl -H 'authorization: bearer {}' x",
        '"Authorization": "token {}"',
        "curl -s -u me:{} https://x",
    ],
}
PLACED = [(kind, place) for kind, places in PLACES.items() for place in places]

"""How many of the decisions planted in made-up conversations a summary still has.

Each conversation is about one project: questions, progress, explanations, results and code, with the
same names and numbers in them as the decisions have. Half of the decisions are worded as such ("let's
keep ..."), the other half as plain facts. Beside the product's summaries stand the first sentences of
the conversation, the first sentence of each turn, and sentences drawn by lot.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Final

from backstory.adapters.embedders.static import StaticEmbedder
from backstory.adapters.summarizers.extractive import ExtractiveSummarizer
from backstory.analysis.sentences import pieces
from backstory.model.summary import SaidTurn
from backstory.model.tokens import tokens
from benchmarks.console import Table, say
from benchmarks.options import Options
from benchmarks.timing import percentile, seconds

BUDGETS: Final = (200, 400)
_SEED: Final = 71
_TURNS: Final = 12
_DECISIONS_OF_A_KIND: Final = 3

Summarize = Callable[[Sequence[SaidTurn], int], str]


@dataclass(frozen=True, slots=True)
class _Topic:
    """What one project is about."""

    parts: Sequence[str]
    files: Sequence[str]
    tools: Sequence[str]
    data: Sequence[str]


_TOPICS: Final = (
    _Topic(
        ("checkout", "cart", "tax calculation", "payment form", "refund job", "invoice export"),
        ("shop/cart.py", "shop/tax.py", "tests/test_cart.py", "web/checkout.tsx", "shop/refunds.py"),
        ("Stripe", "Postgres", "SQLite", "Redis", "Celery", "Decimal"),
        ("prices", "orders", "line items", "receipts", "exchange rates"),
    ),
    _Topic(
        ("log collector", "alerting", "dashboard", "retention job", "query parser", "ingest queue"),
        ("collector/main.go", "alerts/rules.yaml", "ui/panels.ts", "store/segment.go", "cmd/ingest.go"),
        ("Kafka", "NATS", "ClickHouse", "Loki", "Grafana", "gRPC"),
        ("log lines", "metrics", "labels", "segments", "alerts"),
    ),
    _Topic(
        ("sync engine", "offline cache", "login screen", "push notifications", "settings page", "search bar"),
        ("app/sync.kt", "app/cache/Store.kt", "ios/Login.swift", "app/push.kt", "api/session.py"),
        ("Room", "Realm", "OAuth", "Firebase", "GraphQL", "Retrofit"),
        ("messages", "drafts", "contacts", "sessions", "attachments"),
    ),
    _Topic(
        ("training loop", "data loader", "tokenizer", "evaluation", "checkpointing", "inference server"),
        ("train.py", "data/loader.py", "configs/base.yaml", "eval/metrics.py", "serve/app.py"),
        ("PyTorch", "JAX", "Parquet", "ONNX", "Ray", "wandb"),
        ("samples", "embeddings", "labels", "checkpoints", "batches"),
    ),
    _Topic(
        ("scheduler", "worker pool", "retry logic", "admin panel", "webhook sender", "audit trail"),
        ("jobs/scheduler.rs", "jobs/worker.rs", "api/hooks.rs", "migrations/0007.sql", "admin/index.html"),
        ("Tokio", "RabbitMQ", "cron", "SQS", "Prometheus", "axum"),
        ("jobs", "leases", "payloads", "deliveries", "tenants"),
    ),
)

# Decisions that say so.
_MARKED: Final = (
    "We decided to keep the {data} in {tool} because {other} was too slow.",
    "Let's use {tool} for the {part} instead of {other}.",
    "The {part} must never write {data} without a lock.",
    "OK, go with {tool} for the {data}, and drop {other} after the release.",
    "From now on every change to {file} needs a test in the same commit.",
    "We agreed that the {part} retries {n} times and then gives up.",
    "I'd rather have the {part} fail loudly than lose {data}.",
    "Decision: {data} are deleted after {n} days.",
    "We'll stick with {tool}, the {part} depends on it.",
    "Never call {other} from {file}, always go through the {part}.",
)

# The same sort of thing, said as a fact, a wish or an order.
_PLAIN: Final = (
    "{tool} holds the {data}, and {other} is out.",
    "The limit for {data} is {n} MB per request.",
    "Put the new code for the {part} into {file}, nothing else belongs there.",
    "{data} live for {n} days, then the {part} removes them.",
    "Timeouts of the {part} are {n} seconds everywhere.",
    "The {part} belongs to {file} and talks to {tool} alone.",
    "Version {n} of the {part} ships without {other}.",
    "Use one {tool} connection for each worker in the {part}.",
    "{other} goes away, {tool} takes over the {data}.",
    "Support for {other} ends with version {n}.",
)

_REQUESTS: Final = (
    "Can you look into the {part}?",
    "What does {file} do with the {data} at the moment?",
    "Should we use {tool} or {other} for the {data}?",
    "Could you explain how the {part} gets its {data}?",
    "Please run the tests again and tell me what you see.",
    "How long does the {part} take with {n} {data}?",
    "I was wondering about the {part}, it feels slow to me.",
    "Thanks, that helps a lot.",
    "Great, please go on.",
    "Hmm, I am not sure that I understand the second point.",
    "Is there a reason why {other} shows up in {file}?",
    "Let me know when you are done with the {part}.",
)

_REMARKS: Final = (
    "Sure, let me look at {file} first.",
    "I read {file} and {n} other files.",
    "The {part} loads its {data} when the page opens.",
    "There are {n} tests, and all of them pass.",
    "I will start with the {part} and then go through the {data}.",
    "As you can see, {tool} is imported at the top of {file}.",
    "{tool} is popular for this kind of work, while {other} has a larger community.",
    "In general, {data} can be read in any order.",
    "The function takes a list of {data} and returns a dictionary.",
    "Here is what I found so far.",
    "One option is {tool}, another would be {other}; both have their merits.",
    "That took about {n} seconds on this machine.",
    "The {part} has a few helpers that nobody calls.",
    "Let me check whether {other} is still installed.",
    "I see that the {data} are sorted twice.",
    "It might be worth looking at the {part} as well.",
    "The output looks the same as before.",
    "Running the linter on {file} gave {n} warnings about line length.",
    "The loop goes over the {data} and collects what is new.",
    "Would you like me to continue with the {part}?",
    "There may be other ways to do this, depending on your {data}.",
    "I added a short comment to {file} that says what it does.",
    "The documentation of {tool} has a chapter about {data}.",
    "Nothing else stood out in {file}.",
)

_CODE: Final = '```python\ndef load(path):\n    """Read the {data}."""\n    return read(path, limit={n})\n```'
_LIST: Final = "What I looked at:\n- the {part}\n- how {tool} reads the {data}\n- {file}"


@dataclass(frozen=True, slots=True)
class Planted:
    """A conversation, and the decisions that are in it."""

    turns: Sequence[SaidTurn]
    marked: Sequence[str]
    plain: Sequence[str]


def planted(seed: int) -> Planted:
    """A made-up conversation; the same for the same seed."""
    chance = random.Random(f"{_SEED} {seed}")
    topic = chance.choice(_TOPICS)
    marked = [_filled(each, topic, chance) for each in chance.sample(_MARKED, _DECISIONS_OF_A_KIND)]
    plain = [_filled(each, topic, chance) for each in chance.sample(_PLAIN, _DECISIONS_OF_A_KIND)]
    sides = [_talk(topic, chance, number) for number in range(2 * _TURNS)]
    for decision in (*marked, *plain):
        side = chance.choice(sides)
        side.insert(chance.randint(0, len(side)), decision)
    texts = [" ".join(side) for side in sides]
    turns = [SaidTurn(n + 1, texts[2 * n], texts[2 * n + 1], "Ann") for n in range(_TURNS)]
    return Planted(turns, marked, plain)


def _talk(topic: _Topic, chance: random.Random, number: int) -> list[str]:
    """What one side says beside decisions: users little, the assistant much, and code now and then."""
    if number % 2 == 0:
        return [_filled(each, topic, chance) for each in chance.sample(_REQUESTS, chance.randint(1, 3))]
    said = [_filled(each, topic, chance) for each in chance.sample(_REMARKS, chance.randint(4, 9))]
    if chance.random() < 0.3:
        block = _filled(chance.choice((_CODE, _LIST)), topic, chance)
        said.insert(chance.randint(0, len(said)), f"\n\n{block}\n\n")
    return said


def _filled(template: str, topic: _Topic, chance: random.Random) -> str:
    tool, other = chance.sample(topic.tools, 2)
    text = template.format(
        tool=tool,
        other=other,
        part=chance.choice(topic.parts),
        file=chance.choice(topic.files),
        data=chance.choice(topic.data),
        n=chance.choice((3, 5, 12, 20, 45, 90, 250)),
    )
    return text[0].upper() + text[1:] if not text.startswith("```") else text


def run(options: Options) -> Iterator[Table]:
    """One table: the share of the decisions that are found again, by how they are worded."""
    say("summaries")
    talks = [planted(seed) for seed in range(options.samples)]
    yield _table(talks, StaticEmbedder())


def _table(talks: Sequence[Planted], embedder: StaticEmbedder) -> Table:
    columns = [f"{kind}, {budget} tokens" for budget in BUDGETS for kind in ("marked", "plain")]
    rows = {
        name: [*_recalls(talks, summarize), _p95_ms(talks, summarize)]
        for name, summarize in _ways(embedder).items()
    }
    size = round(fmean(tokens(f"{turn.user}{turn.assistant}") for talk in talks for turn in talk.turns))
    title = (
        f"summaries: recall of planted decisions, {len(talks):,} conversations of "
        f"{_TURNS} turns and {_TURNS * size:,} tokens"
    )
    return Table(title, [*columns, f"p95, ms, {BUDGETS[-1]} tokens"], rows)


def _ways(embedder: StaticEmbedder) -> Mapping[str, Summarize]:
    extractive = ExtractiveSummarizer(embedder)

    def summarized(turns: Sequence[SaidTurn], most: int) -> str:
        return extractive.summarize(turns, max_tokens=most).text

    return {
        "extractive": summarized,
        "first sentences": partial(_fitting, _in_order),
        "first sentence of each turn": partial(_fitting, _leads),
        "by lot": partial(_fitting, _shuffled),
    }


def _recalls(talks: Sequence[Planted], summarize: Summarize) -> Iterator[float]:
    for budget in BUDGETS:
        texts = [summarize(talk.turns, budget) for talk in talks]
        yield fmean(_recall(text, talk.marked) for text, talk in zip(texts, talks, strict=True))
        yield fmean(_recall(text, talk.plain) for text, talk in zip(texts, talks, strict=True))


def _recall(text: str, decisions: Sequence[str]) -> float:
    return fmean(decision in text for decision in decisions)


def _p95_ms(talks: Sequence[Planted], summarize: Summarize) -> float:
    taken = (1000 * seconds(partial(summarize, talk.turns, BUDGETS[-1]))[0] for talk in talks)
    return percentile(sorted(taken), 0.95)


def _fitting(order: Callable[[Sequence[SaidTurn]], list[str]], turns: Sequence[SaidTurn], most: int) -> str:
    """The sentences in this order that fit, without a word on who said them."""
    text = ""
    for sentence in order(turns):
        longer = f"{text} {sentence}".strip()
        text = longer if tokens(longer) <= most else text
    return text


def _in_order(turns: Sequence[SaidTurn]) -> list[str]:
    return [piece.text for turn in turns for side in (turn.user, turn.assistant) for piece in pieces(side)]


def _leads(turns: Sequence[SaidTurn]) -> list[str]:
    return [
        piece.text for turn in turns for side in (turn.user, turn.assistant) for piece in pieces(side)[:1]
    ]


def _shuffled(turns: Sequence[SaidTurn]) -> list[str]:
    sentences = _in_order(turns)
    random.Random(_SEED).shuffle(sentences)
    return sentences

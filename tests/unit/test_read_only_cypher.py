"""The guard before foreign statements: what reads passes, what does more never reaches the engine."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ladybug import Connection

from backstory.adapters.ladybug.cypher import _FUNCTIONS, checked
from backstory.adapters.ladybug.database import ask, open_alone
from backstory.errors import InputError
from backstory.model.graph import ReadOnlyCypher

READING = [
    "RETURN 1",
    "MATCH (n) RETURN n",
    "match (n) return n;",
    "MATCH (f:Function)-[:CALLS]->(g:Function) RETURN f.name",
    "MATCH (f:Function)<-[e:CALLS|IMPORTS]-(g) WHERE e.metadata CONTAINS 'x' RETURN DISTINCT g.name AS name",
    "MATCH p = (a:Function)-[:CALLS*1..3]->(b) RETURN nodes(p), length(p) LIMIT 5",
    "MATCH (a)-[e:CALLS* SHORTEST 1..4]->(b) RETURN length(e)",
    "MATCH (a)-[e* ALL SHORTEST 1..4]->(b) RETURN e",
    "MATCH (a)--(b) RETURN count(*)",
    "MATCH (n:Function) WHERE n.id = $id RETURN n.name, n.created_at",
    "MATCH (n) WHERE n.name STARTS WITH 'a' AND NOT n.name ENDS WITH 'b' OR n.memory_id IS NOT NULL RETURN n",
    "MATCH (n) OPTIONAL MATCH (n)-[e]->(m) RETURN n.id, collect(m.id) ORDER BY n.id DESC SKIP 2 LIMIT 3",
    "MATCH (n) WITH n, count(*) AS many WHERE many > 1 RETURN n.name, many ORDER BY many DESC, n.name ASC",
    "MATCH (n) WITH * MATCH (m) RETURN *",
    "MATCH (n) RETURN n.*",
    "UNWIND [1, 2, 3] AS x WITH x WHERE x % 2 = 1 RETURN x * 2 + 1, -x",
    "UNWIND $ids AS id MATCH (n:Memory) WHERE n.id = id RETURN n",
    "RETURN 1 AS x UNION RETURN 2 AS x UNION RETURN 3 AS x",
    "MATCH (n) RETURN n.id UNION ALL MATCH (m) RETURN m.id",
    "RETURN CASE WHEN 1 > 0 THEN 'yes' ELSE 'no' END AS answer",
    "RETURN {a: NOT true, b: CASE 1 WHEN 1 THEN [null] ELSE [2] END, c: lower('X')}.a",
    "MATCH (n) WHERE EXISTS { MATCH (n)-[:CALLS]->(m) WHERE m.name = 'x' } RETURN n",
    "MATCH (n) RETURN n.name, COUNT { MATCH (n)-[:CALLS]->() } AS calls",
    "RETURN list_filter([1, 2], x -> x > 1), any(x IN [1] WHERE x = 1), cast(1 AS STRING)",
    "MATCH (`delete`) RETURN `delete`.name AS `drop table`",
    "RETURN 'CREATE (n); DROP TABLE Memory' AS text, \"it's\", 'it\\'s'",
    "RETURN 1 // CREATE (n)\n, 2 /* ; DROP\nTABLE x */ , 3",
    "RETURN 'it\\'s; DROP TABLE Memory; RETURN '",
]

#: Harmless, though not about this graph.
HARMLESS = [
    "MATCH (create) RETURN create.name",
    "MATCH (n) RETURN n.end, n.limit, n.create LIMIT 1",
    "RETURN '// no comment', \"/* none\", `*/`.x",
]

HOSTILE = [
    "",
    "   ",
    "// nothing",
    ";",
    # writing
    "CREATE (n:Memory {id: 'x'})",
    "create (n:Memory {id: 'x'})",
    "MATCH (n) CREATE (m:Memory {id: 'x'})",
    "MATCH (n) SET n.name = 'x'",
    "MATCH (n) DELETE n",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n)\r\n\tDeTaCh\r\n\tDeLeTe n",
    "MATCH (n) WHERE n.id = 'a' DELETE n",
    "MATCH (n) WHERE n.id = $id DELETE n",
    "MATCH (n) WHERE n.id IS NULL DELETE n",
    "MATCH (n) WHERE n.ok = true DELETE n",
    "MATCH (n) WHERE n.id IN ['a'] DELETE n",
    "MATCH (n) WHERE n = {id: 1} DELETE n",
    "MATCH (n) WITH * DELETE n",
    "MATCH (n) WITH n.* CREATE (m:Memory {id: 'x'})",
    "MATCH (n) WITH n ORDER BY n.id DESC DELETE n",
    "MATCH (n) WITH n LIMIT 1 DELETE n",
    "MATCH (n) WITH n AS `m` DELETE `m`",
    "WITH CASE WHEN true THEN 1 END AS x CREATE (m:Memory {id: 'x'})",
    "MATCH (n) REMOVE n.name",
    "MERGE (n:Memory {id: 'x'})",
    "MATCH (n) MERGE (m:Memory {id: 'x'}) RETURN m",
    "UNWIND [1] AS x MERGE (m:Memory {id: 'x'})",
    "MATCH (n) FOREACH (x IN [1] | SET n.name = 'x')",
    # hidden
    "MATCH (n) /* only reads */ DELETE /* really */ n",
    "MATCH (n) // only reads\nDELETE n",
    "MATCH (n) // only reads\rDELETE n",
    "/**/CREATE/**/(n:Memory {id: 'x'})",
    "MATCH (n) /*/ DELETE n /*/ RETURN n; DROP TABLE Memory",
    "RETURN 'open",
    'RETURN "open',
    "RETURN `open",
    "RETURN 'nul \x00 byte'",
    "RETURN 'bad escape \\q'",
    "RETURN /* open",
    "MATCH (n) \u00a0DELETE n",
    "MATCH (n) DELETE\u2003n",
    "MATCH (n) \u017fET n.name = 'x'",  # a long s, whose capital is S
    "MATCH (n) DELETE\u200b n",
    "\ufeffCREATE (n:Memory {id: 'x'})",
    "\uff23\uff32\uff25\uff21\uff34\uff25 (n:Memory {id: 'x'})",
    # several
    "RETURN 1; RETURN 2",
    "RETURN 1;;",
    "MATCH (n) RETURN n; MATCH (n) DETACH DELETE n",
    "RETURN 1 UNION CREATE (n:Memory {id: 'x'})",
    "RETURN 1 UNION ALL CREATE (n:Memory {id: 'x'})",
    "RETURN 1 UNION CHECKPOINT",
    "RETURN 1 UNION ALL CHECKPOINT",
    "RETURN 1 UNION",
    "RETURN 1 UNION ALL CALL show_tables() RETURN *",
    "RETURN 1 UNION LOAD FROM '/etc/passwd' RETURN *",
    # beyond the graph
    "LOAD FROM '/etc/passwd' RETURN *",
    "LOAD FROM secret RETURN *",
    "LOAD WITH HEADERS (a STRING) FROM '/etc/passwd' RETURN a",
    "MATCH (n) LOAD FROM '/etc/passwd' RETURN *",
    "WITH 1 AS x LOAD FROM '/etc/passwd' RETURN *",
    "COPY (MATCH (n) RETURN n) TO '/tmp/out.csv'",
    "COPY Memory FROM '/tmp/in.csv'",
    "MATCH (n) RETURN n UNION COPY (RETURN 1) TO '/tmp/out.csv'",
    "EXPORT DATABASE '/tmp/out'",
    "IMPORT DATABASE '/tmp/in'",
    "ATTACH '/tmp/other' AS other (dbtype ladybug)",
    "DETACH other",
    "USE other",
    "INSTALL httpfs",
    "LOAD EXTENSION httpfs",
    "UNINSTALL httpfs",
    # the engine itself
    "CALL show_tables() RETURN *",
    "CALL threads=1",
    "CALL current_setting('threads') RETURN *",
    "MATCH (n) CALL show_tables() RETURN *",
    "MATCH (n) CALL { MATCH (m) DELETE m } RETURN n",
    "DROP TABLE Memory",
    "ALTER TABLE Memory ADD x STRING",
    "CREATE NODE TABLE X(id STRING PRIMARY KEY)",
    "CREATE REL TABLE X(FROM Memory TO Memory)",
    "CREATE SEQUENCE s",
    "CREATE MACRO m(x) AS x",
    "CREATE GRAPH g ANY",
    "COMMENT ON TABLE Memory IS 'x'",
    "CHECKPOINT",
    "ANALYZE",
    "BEGIN TRANSACTION",
    "COMMIT",
    "ROLLBACK",
    "EXPLAIN MATCH (n) RETURN n",
    "PROFILE MATCH (n) DELETE n",
    # functions
    "RETURN nextval('s')",
    "RETURN `nextval`('s')",
    "RETURN nextval /* x */ ('s')",
    "RETURN lower(nextval('s'))",
    "RETURN size(range(1, 1000000000))",
    "RETURN repeat('x', 1000000000)",
    "RETURN lpad('x', 1000000000, 'y')",
    "RETURN to_json($x)",
    "RETURN read_csv_serial('/etc/passwd')",
    "RETURN getenv('HOME')",
    "RETURN apoc.load.json('http://x')",
    # more than the engine survives
    "RETURN " + "(" * 11 + "1" + ")" * 11,
    "RETURN " + "[" * 1000 + "1" + "]" * 1000,
    "RETURN " + "CASE WHEN true THEN " * 11 + "1" + " END" * 11,
    "MATCH (a)" + "-[]->()" * 11 + " RETURN a",
    "MATCH (a)" + "-->()" * 11 + " RETURN a",
    "WITH 1 AS x " + "WITH x + x AS x " * 11 + "RETURN x",
    "WITH 1 AS x, 2 AS y " + "WITH [x, y] AS x, [x, y] AS y " * 11 + "RETURN x",
    "RETURN [" + "1," * 2000 + "1]",
    "RETURN '" + "x" * 10_000 + "'",
]


def passed(text: str, **parameters: object) -> str:
    return checked(ReadOnlyCypher(text, parameters)).text


@pytest.fixture(scope="module")
def engine() -> Iterator[Connection]:
    with open_alone(Path(":memory:"), pool_bytes=64 << 20, threads=1) as connection:
        connection.execute("CREATE (:Memory {id: 'a', name: 'a'}), (:Function {id: 'b', name: 'b'})")
        yield connection


@pytest.mark.parametrize("text", READING + HARMLESS)
def test_a_statement_that_reads_passes(text: str) -> None:
    assert passed(text, id="a", ids=["a"])


@pytest.mark.parametrize("text", READING)
def test_what_passes_is_what_the_engine_understands(engine: Connection, text: str) -> None:
    statement = checked(ReadOnlyCypher(text, {"id": "a", "ids": ["a"]}))

    engine.execute(statement.text, dict(statement.parameters))


def test_every_allowed_function_is_one_the_engine_has(engine: Connection) -> None:
    known = {name.upper() for [name] in ask(engine, "CALL show_functions() RETURN name")}

    assert known >= _FUNCTIONS


@pytest.mark.parametrize("text", HOSTILE)
def test_a_statement_that_does_more_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InputError) as refused:
        passed(text, id="a", x={})

    assert refused.value.hint


def test_comments_do_not_reach_the_engine() -> None:
    text = passed("MATCH (n) // first\nWHERE n.name = '// kept' /* second */RETURN n;")

    assert text == "MATCH (n)   WHERE n.name = '// kept'  RETURN n"


def test_only_the_parameters_that_are_used_are_passed_on() -> None:
    statement = checked(ReadOnlyCypher("RETURN $used, '$quoted'", {"used": 1, "unused": object()}))

    assert statement.parameters == {"used": 1}


def test_a_parameter_without_a_value_is_refused() -> None:
    with pytest.raises(InputError, match=r"\$missing"):
        passed("RETURN $missing", other=1)


@pytest.mark.parametrize("value", [None, True, -1, 2**63 - 1, 0.5, "ü", [], [1, [2]], {"a": {"b": None}}])
def test_json_values_are_parameters(value: object) -> None:
    assert checked(ReadOnlyCypher("RETURN $x", {"x": value})).parameters == {"x": value}


class Table:
    """What the engine would read itself, were it let."""


DEEP: list[object] = []
for _ in range(20):
    DEEP = [DEEP]


@pytest.mark.parametrize("value", [Table(), object, b"bytes", 2**63, "\ud800", {1: 2}, [{"a": {1}}], DEEP])
def test_other_values_are_not_parameters(value: object) -> None:
    with pytest.raises(InputError):
        passed("RETURN $x", x=value)


@given(st.text())
def test_any_text_is_either_passed_or_refused(text: str) -> None:
    with suppress(InputError):
        assert passed(text)


WRITES = ["CREATE (m)", "SET n.x = 1", "DELETE n", "DETACH DELETE n", "MERGE (m)", "REMOVE n.x"]
BEYOND = [
    "CALL f()",
    "LOAD FROM 'x'",
    "COPY n FROM 'x'",
    "DROP TABLE n",
    "INSTALL x",
    "FOREACH (x IN [] | y)",
]
READS = [
    "MATCH (n)",
    "WHERE n.x = 'a'",
    "WITH n",
    "WITH *",
    "UNWIND [1] AS x",
    "RETURN n",
    "LIMIT 1",
    "ORDER BY n DESC",
]
GAPS = [" ", "\n", "\t", "/**/", " /* ' */ ", "// `\n", "\r\n"]


@given(st.data())
def test_a_clause_that_does_more_is_refused_wherever_it_stands(data: st.DataObject) -> None:
    clauses = ["MATCH (n)", *data.draw(st.lists(st.sampled_from(READS), max_size=4))]
    at = data.draw(st.integers(0, len(clauses)))
    clauses.insert(at, data.draw(st.sampled_from(WRITES + BEYOND)))
    text = "".join(clause + data.draw(st.sampled_from(GAPS)) for clause in clauses)
    if data.draw(st.booleans()):
        text = text.swapcase()

    with pytest.raises(InputError):
        passed(text)


SHORT = [text.split(" ") for text in READING + HOSTILE if len(text) < 200]


def everything(engine: Connection) -> list[list[object]]:
    return [
        *ask(engine, "MATCH (n) RETURN label(n), n.id, n.name"),
        *ask(engine, "CALL show_tables() RETURN name ORDER BY name"),
    ]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_passes_leaves_the_graph_and_the_disk_alone(
    engine: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: st.DataObject
) -> None:
    monkeypatch.chdir(tmp_path)
    begin, middle, end = (data.draw(st.sampled_from(SHORT)) for _ in range(3))
    cut = [data.draw(st.integers(0, len(part))) for part in (begin, middle, end)]
    text = " ".join(begin[: cut[0]] + middle[cut[1] :] + end[cut[2] :])
    before = everything(engine)

    with suppress(InputError):
        statement = checked(ReadOnlyCypher(text, {"id": "a", "ids": ["a"], "x": 1}))
        with suppress(RuntimeError):  # the engine did not understand it
            engine.execute(statement.text, dict(statement.parameters))

    assert everything(engine) == before
    assert list(tmp_path.iterdir()) == []

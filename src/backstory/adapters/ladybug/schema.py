"""The tables of a graph, the statements on them, and how our values become rows and back.

A node table for each type of node; a relationship table for each type of relationship. Inside the
engine every pair of node types a relationship connects is a table of its own, and a used one costs
some 2 MB on disk, 8 MB of memory until the next checkpoint and 25 ms of each checkpoint. With all
144 pairs of every type a graph takes 50 ms to make and a step of a walk 1.1 ms; with the pairs that
are there 10 ms and 0.2 ms. So a pair is added when the first edge needs it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from backstory.errors import ContentRefused
from backstory.model.graph import Edge, Node, NodeRef, NodeType, RelationshipType

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """One relationship type between two node types."""

    type: RelationshipType
    start: NodeType
    end: NodeType

    @classmethod
    def of(cls, edge: Edge) -> "Pair":
        """Give the pair that holds the edge."""
        return cls(edge.type, edge.start.type, edge.end.type)


# A relationship table needs a pair to begin with. Patterns are walked the least.
_FIRST_PAIR: Final = f"FROM {NodeType.PATTERN} TO {NodeType.PATTERN}"

# With an ART index on the key an open graph of 100,000 nodes takes 12 MB and is open in 11 ms; with the
# default hash index 50 MB and 31 ms. Making the tables takes a third of the time; lookups are as fast.
NO_HASH_INDEX: Final = "CALL enable_default_hash_index = false"

CREATE_TABLES: Final = (
    *(
        f"CREATE NODE TABLE {label}(id STRING PRIMARY KEY, name STRING, memory_id STRING,"
        " created_at TIMESTAMP, metadata STRING)"
        for label in NodeType
    ),
    *(f"CREATE ART INDEX {label}_id FOR (n:{label}) ON (n.id)" for label in NodeType),
    *(
        f"CREATE REL TABLE {label}({_FIRST_PAIR}, created_at TIMESTAMP, metadata STRING)"
        for label in RelationshipType
    ),
)

#: The type of each known id among $ids: a look into every table's key, 0.5 ms for all twelve.
TYPES_OF_IDS: Final = " UNION ALL ".join(
    f"UNWIND $ids AS i MATCH (n:{label}) WHERE n.id = i RETURN n.id AS id, label(n) AS type"
    for label in NodeType
)

# Made once: making it takes longer than using it.
_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def add_pair(pair: Pair) -> str:
    """Let a relationship connect two more types of nodes."""
    return f"ALTER TABLE {pair.type} ADD IF NOT EXISTS FROM {pair.start} TO {pair.end}"


def nodes_by_id(label: NodeType) -> str:
    """Read the nodes of one type with an id among $ids."""
    return (
        f"UNWIND $ids AS i MATCH (n:{label}) WHERE n.id = i"
        " RETURN n.id, n.name, n.memory_id, n.created_at, n.metadata"
    )


def steps_from(
    label: NodeType, along: Sequence[RelationshipType], *, outgoing: bool, ordered: bool, limit: int
) -> str:
    """Read the edges at the node $id, in one direction, with the nodes behind them."""
    edge = f"[e:{'|'.join(along)}]" if along else "[e]"
    pattern = f"-{edge}->" if outgoing else f"<-{edge}-"
    return (
        f"MATCH (n:{label}){pattern}(m) WHERE n.id = $id "
        "RETURN label(e) AS type, e.created_at, e.metadata, label(m), m.id AS id,"
        " m.name, m.memory_id, m.created_at, m.metadata"
        # With a parameter here the engine plans anew every time: 1.8 ms instead of 0.3.
        f"{' ORDER BY type, id' if ordered else ''} LIMIT {limit}"
    )


def remove_nodes(label: NodeType) -> str:
    """Remove the nodes with an id among $ids, with their edges."""
    # `n.id IN $ids` would read the whole table.
    return f"UNWIND $ids AS i MATCH (n:{label}) WHERE n.id = i DETACH DELETE n"


def cut_node(label: NodeType) -> tuple[str, str]:
    """Remove the edges of the node $id: those that leave it, those that come to it."""
    # One node at a time: under UNWIND the engine joins whole tables. It cannot delete both ways at once.
    return (
        f"MATCH (n:{label})-[e]->() WHERE n.id = $id DELETE e",
        f"MATCH (n:{label})<-[e]-() WHERE n.id = $id DELETE e",
    )


def create_nodes(label: NodeType) -> str:
    """Create nodes from $rows."""
    return (
        f"UNWIND $rows AS r CREATE (:{label} {{id: r.id, name: r.name, memory_id: r.memory_id,"
        " created_at: r.created_at, metadata: r.metadata})"
    )


def update_nodes(label: NodeType) -> str:
    """Give nodes that are there the values in $rows."""
    # MERGE would read the whole table: 15 ms at 100,000 nodes, where this takes 0.3 ms.
    return (
        f"UNWIND $rows AS r MATCH (n:{label}) WHERE n.id = r.id SET n.name = r.name,"
        " n.memory_id = r.memory_id, n.created_at = r.created_at, n.metadata = r.metadata"
    )


def remove_edge(pair: Pair) -> str:
    """Remove the edge from $source to $target."""
    pattern = f"(a:{pair.start})-[e:{pair.type}]->(b:{pair.end})"
    return f"MATCH {pattern} WHERE a.id = $source AND b.id = $target DELETE e"


def create_edges(pair: Pair) -> str:
    """Create edges from $rows."""
    # Both ends in one MATCH would be a cross join: seconds for ten rows.
    return (
        f"UNWIND $rows AS r MATCH (a:{pair.start}) WHERE a.id = r.source"
        f" MATCH (b:{pair.end}) WHERE b.id = r.target"
        f" CREATE (a)-[:{pair.type} {{created_at: r.created_at, metadata: r.metadata}}]->(b)"
    )


def node_row(node: Node) -> Row:
    """Give the node as a row of its table."""
    return {
        "id": node.ref.id,
        "name": node.name,
        "memory_id": node.memory_id,
        "created_at": in_utc(node.created_at),
        "metadata": as_json(node.metadata),
    }


def edge_row(edge: Edge) -> Row:
    """Give the edge as a row of its table."""
    return {
        "source": edge.start.id,
        "target": edge.end.id,
        "created_at": in_utc(edge.created_at),
        "metadata": as_json(edge.metadata),
    }


def node_from(ref: NodeRef, columns: Sequence[Any]) -> Node:
    """Give the node that a row holds behind its id."""
    name, memory_id, created_at, metadata = columns
    return Node(ref, name, created_at.replace(tzinfo=UTC), memory_id, json.loads(metadata))


def edge_from(start: NodeRef, label: RelationshipType, end: NodeRef, columns: Sequence[Any]) -> Edge:
    """Give the edge that a row holds."""
    created_at, metadata = columns
    return Edge(start, label, end, created_at.replace(tzinfo=UTC), json.loads(metadata))


def in_utc(moment: datetime) -> datetime:
    """Give the moment as the engine keeps it: in UTC, without saying so.

    The engine drops an offset instead of counting it in.
    """
    return moment.astimezone(UTC).replace(tzinfo=None)


def as_json(metadata: Mapping[str, object]) -> str:
    """Give metadata as JSON text."""
    try:
        return _encode(metadata) if metadata else "{}"
    except (TypeError, ValueError) as error:
        raise ContentRefused(f"metadata must be JSON: {error}", hint="use plain JSON values") from error

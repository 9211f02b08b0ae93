"""Functions: what exists in the code already, and where. Their vectors are kept in the index."""

from typing import Final

from backstory.model.graph import Direction, NodeType, RelationshipType
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import ID, IDS, LINE_NUMBER, PATH, TEXT, UUID

KIND: Final = MemoryKind(
    name="function",
    tier=Tier.SEMANTIC,
    node=NodeType.FUNCTION,
    about="a function that exists, and where",
    named_by=("function_id",),
    fields=(
        Field("function_id", UUID, "The id by which others name it.", "0b9a3d0e-58a4-4a7c-8b55-2f1d6c9e4a01"),
        Field("name", TEXT, "Its name in the code.", "refund", required=True),
        Field("signature", TEXT, "How it is called.", "def refund(order: Order, amount: Money) -> Refund"),
        Field("file_path", PATH, "The file it is in.", "src/shop/payments/refunds.py", required=True),
        Field("start_line", LINE_NUMBER, "Its first line, counted from 1.", 42),
        Field("end_line", LINE_NUMBER, "Its last line.", 67),
        Field("language", TEXT, "The programming language.", "python"),
        Field("docstring", TEXT, "What the code says it does.", "Give money back for an order."),
        Field("containing_class", ID, "Id of the class it belongs to.", "shop.payments.Payments"),
        Field(
            "calls",
            IDS,
            "Ids of the functions it calls.",
            ["5f6c2b9e-7a41-4c0d-b7de-91e5a0c3d802"],
            links=RelationshipType.CALLS,
        ),
        Field(
            "called_by",
            IDS,
            "Ids of the functions that call it.",
            ["c2e7f1a8-0d36-4b59-a1f4-38b6d25e7903"],
            links=RelationshipType.CALLS,
            direction=Direction.IN,
        ),
    ),
)

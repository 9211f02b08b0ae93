"""What tables are made of: columns that SQLite and PostgreSQL do not share, and the catalogue of tables."""

from datetime import UTC, datetime

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, MetaData, TypeDecorator


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC time; SQLite forgets the zone and is reminded of it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


#: SQLite counts rows by itself only in a column of type INTEGER.
BigId = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()

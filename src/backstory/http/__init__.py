"""The process that owns the data: what runs beside the requests."""

"""The source of truth. Everything else in the data folder can be thrown away and made again from here."""

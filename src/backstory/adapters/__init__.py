"""The engines behind the ports; the only importers of engine libraries. Wiring alone sees them."""

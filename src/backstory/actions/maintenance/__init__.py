"""Looking after the store: statistics, rebuild, backup, restore."""

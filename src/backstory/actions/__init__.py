"""What the product does: one verb a file, each a function over an `Engine`."""

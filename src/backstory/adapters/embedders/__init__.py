"""Embedders: the built-in static model, and the cache in front of any of them."""

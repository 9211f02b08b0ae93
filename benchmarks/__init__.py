"""Figures and ratios: how fast, how large, how sound and how good. `python -m benchmarks --help`.

Nothing here asserts: a figure is for reading, beside the machine it was taken on. `docs/benchmarks.md`
says what each one means.
"""

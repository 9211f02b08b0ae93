"""Documents in markdown as values: the requirements and the decisions that are written in them.

Pure: text in, values out. `reading.parsed` is the way in. Finding files, keeping what was read and
linking it is left to others. What it reads: requirements with `REQ-…` ids in headings, paragraphs, lists
and tables; decision records as MADR and Nygard shape them, one a file or many in a log.
"""

"""What was said to agents: read in from their transcripts, kept, searched, and read again.

- `ingest`    read what is new in transcript files; what a process, a watcher or a person asks for
- `choosing`  which files that are, and in which order
- `intake`    one file into the records
- `origins`   whose conversation a file holds
- `reading`   a file's records, in little memory, and quickly again when it has grown
- `keeping`   a session as it is kept: messages with ids, and no secret in any of it
- `touching`  the files that tool calls touched
- `retention` forgetting what is older than somebody wants to keep

The other modules answer questions about what is kept.
"""

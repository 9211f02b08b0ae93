"""`backstory ingest`: requirements and decisions out of documents, as memories."""

import click

from backstory.cli.asking import as_json, ask, in_one_project


@click.command()
@click.argument("path")
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@in_one_project
@as_json
def ingest(**given: object) -> None:
    """Keep the requirements and decisions that the Markdown file or folder PATH says."""
    ask("ingest_documents", given)

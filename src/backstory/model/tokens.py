"""How many tokens a text takes, as far as this can be said without a model's own tokenizer."""


def tokens(text: str) -> int:
    """An upper estimate of a text's tokens.

    English and code have 3.5 to 4.5 ASCII characters a token in the tokenizers that agents use; other
    scripts rarely have fewer than one. A tokenizer would be exact for one model and cost milliseconds.
    """
    return (quarters(text) + 3) // 4


def quarters(text: str) -> int:
    """The same in quarters of a token. Quarters of parts add up to those of the whole; tokens do not."""
    plain = len(text.encode("ascii", "ignore"))
    return plain + 4 * (len(text) - plain)

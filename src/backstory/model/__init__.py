"""The nouns: frozen, slotted values that every room shares. Standard library only."""

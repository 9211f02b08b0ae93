"""Arithmetic on texts and candidates. Pure; every constant has its reason beside it."""

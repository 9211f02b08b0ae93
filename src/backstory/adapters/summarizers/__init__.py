"""What makes a few lines of many turns: by choosing among their sentences, or by asking a language model."""

"""What runs before anything else is loaded. Standard library only."""

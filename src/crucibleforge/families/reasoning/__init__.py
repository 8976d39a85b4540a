"""Find the one arrangement that fits every clue."""

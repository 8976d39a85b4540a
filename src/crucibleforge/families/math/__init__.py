"""Find one exact number."""

"""Find, follow and add up facts in a long text."""

"""From a plan to a complete log: what is owed, asking, marking, and the order of it all."""

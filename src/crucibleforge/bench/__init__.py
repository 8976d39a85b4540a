"""The first number out of a model: what `bench-llm` measures and asks."""

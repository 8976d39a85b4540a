"""What a model's speed is, from stamps and counts: rates, intervals, doubts, and what the hardware allows."""

"""A run on disk: an append-only log beside the plan and the cases that it belongs to."""

"""The suite: every case of every family, which part of it is meant, and the proof that it is sound."""

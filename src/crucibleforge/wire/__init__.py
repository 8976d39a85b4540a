"""The chat protocol without any I/O: requests to bytes, bytes with their times to replies."""

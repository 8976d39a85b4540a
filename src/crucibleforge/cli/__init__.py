"""The command line: data to stdout, all else to stderr, one file a verb."""

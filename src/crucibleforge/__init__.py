"""CrucibleForge: benchmark the language models you run or rent."""

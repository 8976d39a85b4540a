"""Families of questions: one file each, found by folder and file name. What a family is: see `_kit`."""

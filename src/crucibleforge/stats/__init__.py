"""Intervals and rates. Pure arithmetic."""

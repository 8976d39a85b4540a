"""Rows to scorecards, scorecards to text. Pure: whoever writes files passes rows in and takes text out."""

"""Say exactly what was asked for, in exactly that form."""

"""Call the right tools with the right arguments."""

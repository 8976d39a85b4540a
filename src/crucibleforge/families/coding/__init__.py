"""Write a function; marked by running it."""

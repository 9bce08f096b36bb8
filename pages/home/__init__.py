"""The page on which visitors start."""

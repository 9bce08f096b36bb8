"""Measurements beside peers. Not tests: they print numbers, and nothing fails."""

"""Small pages that browser tests open."""

"""`python -m bertviz_core`: see `cli.py`."""

from bertviz_core.cli import main

main()

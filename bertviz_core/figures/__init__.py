"""Figures: arrays in, plotly figures out. No Streamlit, no model."""

# Before any figure: plotly takes the module where it finds it, also one that another
# visitor's thread is in the middle of importing, and fails.
import pandas  # noqa: F401

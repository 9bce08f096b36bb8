"""Figures: arrays in, plotly figures out. No Streamlit, no model."""

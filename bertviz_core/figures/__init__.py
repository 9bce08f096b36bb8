"""Figures: arrays in, plotly figures out. No Streamlit, no model.

What most of its functions take is said here, once: `words` gives the texts on a figure
by their names, `labels` the names of functions; `title` says what the numbers are,
`x_title` and `y_title` what each axis is. Dashes, symbols and modes have plotly's own
names; heights are in pixels.
"""

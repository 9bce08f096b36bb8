"""A folder a page, its script of the same name; `shared` serves all pages.

Streamlit finds scripts directly under `pages/` by itself and runs them without
`app.py`; one level deeper it does not.
"""

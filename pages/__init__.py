"""Empty on purpose: the scripts lie in `pages/views/`.

Streamlit finds scripts directly under `pages/` by itself and runs them without
`app.py`; one level deeper it does not.
"""

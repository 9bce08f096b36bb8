"""The page on which models are brought, looked up and removed."""

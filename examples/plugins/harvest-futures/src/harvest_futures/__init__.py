"""An engine for harvest: worker processes of concurrent.futures."""

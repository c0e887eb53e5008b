"""The runs that the page Train shows before anyone trains there."""

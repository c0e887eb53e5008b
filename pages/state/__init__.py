"""The values in the address, and links from page to page."""

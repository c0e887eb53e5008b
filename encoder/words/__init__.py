"""The terms that pages and answers use, and the works that they cite: two Markdown files, and what reads them."""

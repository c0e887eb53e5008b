"""Every CSV file is written here: for programs as it is, for spreadsheets so that they read it as text and numbers."""

import pandas as pd

#: A spreadsheet takes a cell that begins with one of these for a formula, and runs it (OWASP, "CSV injection").
FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: What tells a spreadsheet that a file is UTF-8.
MARK = "\ufeff"


def as_csv(frame: pd.DataFrame, *, for_spreadsheets: bool, header: bool = True) -> bytes:
    """A table as UTF-8. for_spreadsheets: no text is a formula, and the file begins with MARK.

    header: whether this is the first part of a file, with the names of the columns.
    """
    if for_spreadsheets:
        texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
        frame = frame.assign(**{name: frame[name].map(cell) for name in texts}).rename(columns=cell)
    text = frame.to_csv(index=False, header=header)
    return (MARK * (for_spreadsheets and header) + text).encode()


def cell(value: object) -> object:
    """A value that a spreadsheet does not take for a formula: a text gets an apostrophe, a number stays."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value

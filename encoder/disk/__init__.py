"""Every file and folder that the product writes, whole or not at all, and the one way to open a file for reading.

disk.write_file(path, content)                      # one file; its errors are SaveError
with disk.whole_file(path) as file: ...             # the same, written part by part
with disk.whole_folder(path, "a checkpoint") as new: ... # a folder; what a user added to the earlier one stays
with disk.open_regular(path) as file: ...           # for reading: never a pipe or a device
"""

from encoder.disk.folder import check_folder, clear_folder, put_in_place, whole_folder
from encoder.disk.regular import check_regular, open_regular, read_regular
from encoder.disk.whole import check_output, not_written, whole_file, write_file

__all__ = [
    "check_folder", "check_output", "check_regular", "clear_folder", "not_written", "open_regular", "put_in_place",
    "read_regular", "whole_file", "whole_folder", "write_file",
]  # fmt: skip

"""What pages in a browser share: one file that needs nothing else (`one_file.py`), styles, and making elements, numbers
and themes (`assets/`)."""

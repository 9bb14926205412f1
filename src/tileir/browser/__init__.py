"""What pages in a browser share: `one_file.py` makes a page that needs nothing else; `assets/` has its markup, its
styles, and modules for elements, tables, pictures and the frame of the page."""

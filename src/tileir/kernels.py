"""What `tileir.compile` and the methods of a kernel return, and what launches share.

>>> from tileir.kernels import Cubin, LaunchDescription, overlap, pointer_to, release_memory
>>> bound = kernel.bind(8, args)
>>> with overlap():
...     bound()
>>> parts = [bound, kernel.time(8, args, repeat=3), kernel.work(8, args)]
>>> print(*[type(part).__name__ for part in parts])
BoundLaunch Timing Work
>>> kernel.launch(4, (pointer_to(a[::2]), pointer_to(b[::2]), c, 500))
>>> LaunchDescription((8,), ["ones:f32:8", "1000"]).text()
'--grid 8 --arg ones:f32:8 --arg 1000'
>>> release_memory()
"""

from tileir.public import publish

publish(__name__)

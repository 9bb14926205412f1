"""Compiled kernels in this process: from LLVM IR to an object, into memory, and through a launch.

Nothing here knows how a kernel was lowered.  Read in this order: `target` (the processor and its caches), `llvm_thread`
(where all of LLVM runs), `llvm_compile` (LLVM IR to an object), `loader` (an object into memory, its name on disk);
`launch_record` (the memory that Python and native code share), `binder` (arguments into a record); `thread_pool`
(workers and their scratch memory) and its native functions in `pool_native`, `parallel_launch` (threads of a launch);
`conflicts` and `overlap` (several launches at once).
"""

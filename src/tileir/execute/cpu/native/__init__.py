"""Native code in this process: targets, compilation, the cache on disk, launch records, threads."""

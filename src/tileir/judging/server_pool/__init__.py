"""The processes that judge: each thread has a server, which forks confined children.

pool.py      `judge_chunk`, and the server of a thread: started, kept, started again if it dies
server.py    that process: everything is imported and warm in it; it judges items in children that it forks
"""

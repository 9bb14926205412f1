"""The processes that judge: each thread has a server, which forks confined children.

pool.py      `judge_chunk`, and the server of a thread: started, kept, started again if it dies
server.py    that process: it judges items in children that it forks
warm_up.py   what it imports and builds before the first
helper.py    a process beside it without torch, which forks the children in which no foreign code runs
"""

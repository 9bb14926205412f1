"""A recorded launch, from which every tile, access and step can be asked for (docs/recording.md).

recording.py      `record` and `Recording`; begin here
preparing.py, owned_memory.py, recorder.py, stepwise.py  the launch that is recorded, all at once or step by step
program.py, arrays.py, accesses.py, records.py, memory_states.py  what is kept of it
replayer.py, capture.py, script_variables.py  running tile blocks again for their values
saving.py, archive.py, loading.py  the file
answers.py, finding_answers.py, tiles.py  what the explorer's page shows
"""

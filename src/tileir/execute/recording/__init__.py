"""A recorded launch, which has every tile, access and step (docs/tools/recording.md).

recording.py: `record` and `Recording`; begin here
recorded_launch.py, recorder.py: the launch that is recorded, the memory it owns, and what keeps it
program.py, arrays.py, accesses.py, memory_states.py: what is kept of it
replayer.py, script_variables.py: running tile blocks again for their values
stepwise_recording.py: a recording that grows, for the debugger
file_writer.py, file_reader.py: the file
tiles.py: tiles and arrays as text, statistics and numbers to draw
"""

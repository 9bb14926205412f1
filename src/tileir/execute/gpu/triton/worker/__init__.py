"""The process that runs Triton: its compiler may abort, and takes a while to import.

requests.py     what is asked, and what is answered
stages.py       in that process: TTIR through Triton's stages
libdevice.py    NVIDIA's library of functions, read once
serving.py      that process
process.py      it, as this process sees it
pool.py         all of them: `compile_ttir`
specialized.py  TTIR through Triton with the changes of ttgir/
"""

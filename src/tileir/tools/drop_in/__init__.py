"""`tileir-opt` and `tileir-translate`: stand-ins for NVIDIA's cuda-tile-opt and cuda-tile-translate."""

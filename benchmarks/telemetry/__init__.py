"""What is watched from outside while arms run: GPUs through NVML, CPUs, memory, strangers."""

"""Running programs: arguments, memory, launch, and the engines."""

"""A recorded launch, from which every tile, access and moment can be asked for (docs/recording.md)."""

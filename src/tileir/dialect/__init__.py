"""What cuda_tile says: types, attributes, enumerations, versions, and one declaration per operation."""

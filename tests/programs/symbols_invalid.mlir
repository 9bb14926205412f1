// Modules, entries and the symbols they define.

cuda_tile.module @m {
  // expected-note @below {{see existing symbol definition here}}
  entry @k() {
    return
  }
  // expected-error @below {{redefinition of symbol named 'k'}}
  entry @k() {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{see existing symbol definition here}}
  global @k <i32: [1]> : tile<1xi32>
  // expected-error @below {{redefinition of symbol named 'k'}}
  entry @k() {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected valid '@'-identifier for symbol name}}
  entry k() {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected '"' in string literal}}
  entry @"open() {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected '('}}
  entry @k {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected ':'}}
  entry @k(%a) {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{custom op 'cuda_tile.entry' expected valid keyword}}
  entry @k(%a: ) {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected SSA operand}}
  entry @k(a: tile<i32>) {
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32> {
    return
  // expected-error @below {{expected ')'}}
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected SSA operand}}
  entry @k(tile<i32>) {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op entry op must have scalar types (rank 0 !cuda_tile.tile)}}
  entry @k(%a: tile<4xi32>) {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op entry op must not return values}}
  entry @k() -> tile<i32> {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected attribute value}}
  entry @k() attributes {a = } {
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.entry' op symbol's parent must have the SymbolTable trait}}
    entry @inner() {
      return
    }
    return
  }
}

// -----

// expected-error @below {{custom op 'entry' is unknown (tried 'builtin.entry' as well)}}
entry @k() {
  return
}

// -----

// expected-error @below {{expected valid '@'-identifier for symbol name}}
cuda_tile.module {
}

// -----

// expected-error @below {{expected '{'}}
cuda_tile.module @m

// -----

module {
  // expected-note @below {{see existing symbol definition here}}
  cuda_tile.module @m {
  }
  // expected-error @below {{redefinition of symbol named 'm'}}
  cuda_tile.module @m {
  }
}

// -----

// expected-error @below {{'builtin.module' op can only contain attributes with dialect-prefixed names, found: 'plain'}}
module attributes {plain = 1} {
}

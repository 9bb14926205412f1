// What is no token, or a token in the wrong place.

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '"' in string literal}}
    print_tko "never closed
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unknown escape in string literal}}
    print_tko "bad \q escape" -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected operation name in quotes}}
    $
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    return
  }
}
// expected-error @below {{unbalanced '}'}}
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '}'}}
    return

// -----

// expected-error @below {{expected valid '@'-identifier for symbol name}}
cuda_tile.module @ {
}

// -----

// expected-error @below {{expected valid '@'-identifier for symbol name}}
cuda_tile.module m {
}

// -----

// expected-error @below {{expected '{'}}
cuda_tile.module @m [
]

// -----

cuda_tile.module @m {
  entry @k() {
    %0
    // expected-error @below {{expected '=' after SSA name}}
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{cannot name an operation with no results}}
    %0 =
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected operation name in quotes}}
    %0 = 5
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected operation name in quotes}}
    @symbol
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{empty operation name is invalid}}
    "" () : () -> ()
    return
  }
}

// Locations and debug information.

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{custom op 'loc' is unknown (tried 'cuda_tile.loc' as well)}}
    %0 = negi %x : tile<i32> loc
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected location instance}}
    %0 = negi %x : tile<i32> loc()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected location instance}}
    %0 = negi %x : tile<i32> loc(nowhere)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected location instance}}
    %0 = negi %x : tile<i32> loc(3)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected integer line number}}
    %0 = negi %x : tile<i32> loc("k.py":x:1)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected ':'}}
    %0 = negi %x : tile<i32> loc("k.py":1)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected integer column number}}
    %0 = negi %x : tile<i32> loc("k.py":1:y)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected integer column number}}
    %0 = negi %x : tile<i32> loc("k.py":1:99999999999)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected integer line number}}
    %0 = negi %x : tile<i32> loc("k.py":-1:1)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected ')'}}
    %0 = negi %x : tile<i32> loc("k.py":1:1
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected location instance}}
    %0 = negi %x : tile<i32> loc("name"(3))
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected 'at' in callsite location}}
    %0 = negi %x : tile<i32> loc(callsite("a" in "b"))
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected location instance}}
    %0 = negi %x : tile<i32> loc(callsite("a" at))
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected '('}}
    %0 = negi %x : tile<i32> loc(callsite "a" at "b")
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected location instance}}
    %0 = negi %x : tile<i32> loc(fused["a", ])
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected attribute value}}
    %0 = negi %x : tile<i32> loc(fused<>["a"])
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected '['}}
    %0 = negi %x : tile<i32> loc(fused "a")
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected ']'}}
    %0 = negi %x : tile<i32> loc(fused["a")
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{undefined symbol alias id 'missing'}}
    %0 = negi %x : tile<i32> loc(#missing)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected location attribute}}
    %0 = negi %x : tile<i32> loc(#cuda_tile.di_file<"k.py" in "src">)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected '"' in string literal}}
    %0 = negi %x : tile<i32> loc("open)
    return
  }
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected 'in'}}
#a = #cuda_tile.di_file<"k.py">
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected 'in'}}
#a = #cuda_tile.di_file<"k.py" at "src">
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected string}}
#a = #cuda_tile.di_file<k in "src">
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected a parameter name in struct}}
#a = #cuda_tile.di_compile_unit<>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{duplicate or unknown struct parameter name: name}}
#a = #cuda_tile.di_compile_unit<name = 3>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{invalid kind of attribute specified}}
#a = #cuda_tile.di_compile_unit<file = #unit>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{duplicate or unknown struct parameter name: file}}
#a = #cuda_tile.di_compile_unit<file = #file, file = #file>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected '='}}
#a = #cuda_tile.di_compile_unit<file #file>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected '>'}}
#a = #cuda_tile.di_compile_unit<file = #file
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{struct is missing required parameter: compileUnit}}
#a = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k">
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected integer line number}}
#a = #cuda_tile.di_subprogram<file = #file, line = x, name = "k", linkageName = "k", compileUnit = #unit>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected string}}
#a = #cuda_tile.di_subprogram<file = #file, line = 1, name = k, linkageName = "k", compileUnit = #unit>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{invalid kind of attribute specified}}
#a = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #file>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{invalid kind of attribute specified}}
#a = #cuda_tile.di_lexical_block<scope = #unit, file = #file, line = 1>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected location attribute}}
#a = #cuda_tile.di_loc<#file in #unit>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{invalid kind of attribute specified for the scope: #cuda_tile.di_compile_unit<file = <"k.py" in "src">>}}
#a = #cuda_tile.di_loc<loc("k.py":1:1) in #unit>
cuda_tile.module @m {
}

// -----

#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
// expected-error @below {{expected 'in'}}
#a = #cuda_tile.di_loc<loc("k.py":1:1) at #unit>
cuda_tile.module @m {
}

// -----

// expected-error @unknown {{'cuda_tile.entry' op invalid function debug info scope: #cuda_tile.di_subprogram<file = <"k.py" in "src">, line = 1, name = "k", linkageName = "other", compileUnit = <file = <"k.py" in "src">>>. Function name "k" does not match subprogram scope linkage name "other".}}
#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#scope = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "other", compileUnit = #unit>
#here = #cuda_tile.di_loc<loc("k.py":1:1) in #scope>
cuda_tile.module @m {
  entry @k() {
    return
  } loc(#here)
}

// -----

// expected-error @unknown {{'cuda_tile.return' op invalid operation debug info scope: #cuda_tile.di_subprogram<file = <"k.py" in "src">, line = 1, name = "k", linkageName = "k", compileUnit = <file = <"k.py" in "src">>>. Operation has debug info scope, but function debug info scope is undefined.}}
#file = #cuda_tile.di_file<"k.py" in "src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#scope = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit>
#here = #cuda_tile.di_loc<loc("k.py":1:1) in #scope>
cuda_tile.module @m {
  entry @k() {
    return loc(#here)
  }
}

cuda_tile.module @kernels {
  entry @k() {
    %0 = make_token : token loc(#loc4)
    %1 = make_token : token loc(#loc5)
    return loc(#loc)
  } loc(#loc3)
} loc(#loc)
#di_file = #cuda_tile.di_file<"k.py" in "/src">
#loc = loc(unknown)
#loc1 = loc("k.py":3:1)
#loc2 = loc("k.py":5:2)
#di_compile_unit = #cuda_tile.di_compile_unit<file = #di_file>
#di_subprogram = #cuda_tile.di_subprogram<file = #di_file, line = 3, name = "k", linkageName = "k", compileUnit = #di_compile_unit, scopeLine = 3>
#di_lexical_block = #cuda_tile.di_lexical_block<scope = #di_subprogram, file = #di_file, line = 4, column = 1>
#loc3 = #cuda_tile.di_loc<#loc1 in #di_subprogram>
#loc4 = #cuda_tile.di_loc<#loc2 in #di_lexical_block>
#loc5 = loc(callsite(#loc4 at #loc3))
// Three kernels, three errors. `tileir check examples/broken.mlir` reports every one at its position.
cuda_tile.module @kernels {
  entry @adds_integers_as_floats() {
    %a = iota : tile<8xi32>
    %sum = addf %a, %a : tile<8xi32>
    return
  }

  entry @reshapes_to_another_size() {
    %a = iota : tile<8xi32>
    %square = reshape %a : tile<8xi32> -> tile<4x4xi32>
    return
  }

  entry @multiplies_shapes_that_do_not_meet() {
    %a = constant <f16: 1.0> : tile<4x16xf16>
    %b = constant <f16: 2.0> : tile<8x16xf16>
    %c = constant <f32: 0.0> : tile<4x16xf32>
    %product = mmaf %a, %b, %c : tile<4x16xf16>, tile<8x16xf16>, tile<4x16xf32>
    return
  }
}

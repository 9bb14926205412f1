// the types draft, section DivByAttr Verifier, a rule it names, broken
// expect: 'every'/'along' cannot be used if the constrained value is a tensor_view
cuda_tile.module @kernels {
  entry @every_of_a_tensor_view(%pointer: tile<ptr<f32>>) {
    %tensor = make_tensor_view %pointer, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
    %0 = assume div_by<4, every 1 along 0>, %tensor : tensor_view<8xf32, strides=[1]>
    return
  }
}

// the types draft, section Element-Type Palette, no code block, every element type it names
// verify: yes
cuda_tile.module @kernels {
  entry @elements(%pointer: tile<ptr<f8E4M3FN>>) {
    %i1 = constant <i1: true> : tile<2xi1>
    %i8 = constant <i8: 1> : tile<2xi8>
    %i16 = constant <i16: 1> : tile<2xi16>
    %i32 = constant <i32: 1> : tile<2xi32>
    %i64 = constant <i64: 1> : tile<2xi64>
    %f16 = constant <f16: 1.0> : tile<2xf16>
    %bf16 = constant <bf16: 1.0> : tile<2xbf16>
    %f32 = constant <f32: 1.0> : tile<2xf32>
    %tf32 = constant <tf32: 1.0> : tile<2xtf32>
    %f64 = constant <f64: 1.0> : tile<2xf64>
    %f8E4M3FN = constant <f8E4M3FN: 1.0> : tile<2xf8E4M3FN>
    %f8E5M2 = constant <f8E5M2: 1.0> : tile<2xf8E5M2>
    %pointers = reshape %pointer : tile<ptr<f8E4M3FN>> -> tile<1xptr<f8E4M3FN>>
    return
  }
}

// the types draft, section Assumption Predicates, no code block, the three predicates
// verify: yes
// strict bounds: C2; meaning of same_elements: C3
cuda_tile.module @kernels {
  entry @predicates(%pointer: tile<ptr<f32>>, %scalar: tile<i32>) {
    %vector = iota : tile<8xi32>
    %tensor = make_tensor_view %pointer, shape = [%scalar], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %0 = assume div_by<16>, %pointer : tile<ptr<f32>>
    %1 = assume div_by<4>, %scalar : tile<i32>
    %2 = assume div_by<4, every 2 along 0>, %vector : tile<8xi32>
    %3 = assume div_by<16>, %tensor : tensor_view<?xf32, strides=[1]>
    %4 = assume bounded<0, 63>, %scalar : tile<i32>
    %5 = assume bounded<?, 63>, %scalar : tile<i32>
    %6 = assume bounded<0, ?>, %scalar : tile<i32>
    %7 = assume bounded<-1, 64, strict>, %scalar : tile<i32>
    %8 = assume same_elements<[4]>, %vector : tile<8xi32>
    return
  }
}

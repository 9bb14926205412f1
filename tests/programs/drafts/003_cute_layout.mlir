// the printer draft, section cuTe Layout Attributes, examples
// verify: yes
// the block lists three attributes; here each is a discardable attribute of an operation: A14
cuda_tile.module @kernels {
  entry @example(%x: tile<f32>) {
    // block 1
    %0 = absf %x {layout = #cute.layout<(1@0, 16@1)>} : tile<f32>
    %1 = absf %x {shape = #cute.shape<(128@0, 64@1)>} : tile<f32>
    %2 = absf %x {stride = #cute.stride<(1@0, 128@1)>} : tile<f32>
    return
  }
}

// the printer draft, section cuTe Layout Attributes, a malformed parameter
// expect: cute.layout
// A14: reported, never kept as an opaque string
cuda_tile.module @kernels {
  entry @dimension_missing(%x: tile<f32>) {
    %0 = absf %x {layout = #cute.layout<(1@0, 16@)>} : tile<f32>
    return
  }
}

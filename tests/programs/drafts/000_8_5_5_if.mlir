// the operations draft, section 8.5.5 if, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %condition = constant dense<1> : tile<i1>

    // A simple if operation that conditionally executes a region.
    if %condition  {
      // ...
    }

    // An if operation with an "else" branch.
    if %condition  {
      // ...
    } else {
      // ...
    }

    // An if operation that returns mixed types (f32,i32)
    %x, %y = if %condition -> (tile<f32>, tile<i32>) {
      %x_then = constant dense<1.0> : tile<f32>
      %y_then = constant dense<2> : tile<i32>
      yield %x_then, %y_then : tile<f32>, tile<i32>
    } else {
      %x_then = constant dense<1.0> : tile<f32>
      %y_then = constant dense<42> : tile<i32>
      yield %x_then, %y_then : tile<f32>, tile<i32>
    }
    return
  }
}

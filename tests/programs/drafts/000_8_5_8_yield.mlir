// the operations draft, section 8.5.8 yield, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %condition = constant dense<true> : tile<i1>
    // Yield from the body of an if conditional.
    if %condition  {
        yield
    }

    // Yield values from within an if conditional.
    %x, %y = if %condition -> (tile<f32>, tile<f32>) {
        %x_then = constant dense<0.0> : tile<f32>
        %y_then = constant dense<1.0> : tile<f32>
        yield %x_then, %y_then : tile<f32>, tile<f32>
    } else {
        %x_else = constant dense<2.0> : tile<f32>
        %y_else = constant dense<3.0> : tile<f32>
        yield %x_else, %y_else : tile<f32>, tile<f32>
    }
    return
  }
}

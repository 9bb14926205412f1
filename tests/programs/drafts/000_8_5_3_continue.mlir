// the operations draft, section 8.5.3 continue, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
      %lowerBound = constant dense<0> : tile<i32>
      %upperBound = constant dense<10> : tile<i32>
      %step = constant dense<1> : tile<i32>
      %condition = constant dense<1> : tile<i1>
      // Continue from the body of a loop.
      for %iv in (%lowerBound to %upperBound, step %step) : tile<i32> {
          continue
      }

      // Continue from an if nested within the loop.
      for %iv in (%lowerBound to %upperBound, step %step) : tile<i32> {
          if %condition  {
              continue
          }
          // ...
      }

    // Continue from an if nested within the loop, while yielding values.
    %initVar0 = constant dense<0.0> : tile<f32>
    %results = for %iv in (%lowerBound to %upperBound, step %step) : tile<i32>
              iter_values(%var0 = %initVar0) -> (tile<f32>)
      {
          if %condition {
              // ...
              yield
          } else {
              %loopValue0 = constant dense<1.0> : tile<f32>
              continue %loopValue0 : tile<f32>
          }
          %loopValue1 = constant dense<1.0> : tile<f32>
          continue %loopValue1 : tile<f32>
      }
    return
  }
}

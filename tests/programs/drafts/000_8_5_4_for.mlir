// the operations draft, section 8.5.4 for, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %lowerBound = constant dense<0> : tile<i32>
    %upperBound = constant dense<10> : tile<i32>
    %step = constant dense<1> : tile<i32>

    // A simple loop iterating over an i32 range.
    for %iv in (%lowerBound to %upperBound, step %step) : tile<i32> {
        continue
    }

    %initVal0 = constant dense<0.0> : tile<f32>
    // A similar loop to the above, but with a loop carried value, val0.
    %results = for %iv in (%lowerBound to %upperBound, step %step) : tile<i32>
                        iter_values(%val00 = %initVal0) -> (tile<f32>) {
      %loopVal0 = constant dense<1.0> : tile<f32>
      continue %loopVal0 : tile<f32>
    }
    return
  }
}

// the operations draft, section 8.5.2 break, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    // Break from the body of a loop.
    loop {
        break
    }

    // Break from an if nested within the loop.
    loop  {
        %condition = constant dense<1> : tile<i1>
        if %condition  {
            break
        }
        // ...
    }

    %initValue0 = constant dense<0.0> : tile<f32>
    // Break from an if nested within the loop, while yielding values.
    %results = loop iter_values(%var0 = %initValue0): tile<f32> -> tile<f32> {
        %condition = constant dense<1> : tile<i1>
        if %condition  {
            // ...
            yield
        } else {
            // %if.loopValue0 = ...
            %loopValue0 = constant dense<1.0> : tile<f32>
            break %loopValue0 : tile<f32>
        }
        %loopValue1 = constant dense<1.0> : tile<f32>
        continue %loopValue1 : tile<f32>
    }
    return
  }
}

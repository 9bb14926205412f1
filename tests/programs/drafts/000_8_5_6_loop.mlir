// the operations draft, section 8.5.6 loop, examples
// verify: yes
// carried and result types differ in the last example: C12
cuda_tile.module @kernels {
  entry @example_0() {
    // block 1
    %initValue0 = constant dense<0.0> : tile<f32>
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

  entry @example_1() {
    // block 2
    // A simple "while-do" loop.
    loop {
        %cond = constant dense<1> : tile<i1>
        if %cond {
            continue
        }
        break
    }
    return
  }

  entry @example_2() {
    // block 3
    // A simple "do-while" loop.
    loop {
        //... body of the loop.

        %cond = constant dense<1> : tile<i1>
        if %cond {
            continue
        }
        break
    }
    return
  }

  entry @example_3() {
    // block 4
    %initValue0 = constant dense<0.0> : tile<f32>
    // A loop that yields carried-iteration values, returning the final values.
    %results = loop iter_values(%value0 = %initValue0) : tile<f32> -> tile<f32> {
        %cond = constant dense<1> : tile<i1>
        if %cond {
            %loopValue0 = constant dense<0.0> : tile<f32>
            continue %loopValue0 : tile<f32>
        }
        break %value0 : tile<f32>
    }
    return
  }

  entry @example_4() {
    // block 5
    %initValue0 = constant dense<0> : tile<i32>
    // A loop that uses loop-carried values and returns a different type.
    %results = loop iter_values(%value0 = %initValue0) : tile<i32> -> tile<f32> {
        %cond = constant dense<1> : tile<i1>

        if %cond {
            %newLoopValue = constant dense<0> : tile<i32>
            continue %newLoopValue : tile<i32>
        }

        %finalReturnValue = constant dense<0.0> : tile<f32>
        break %finalReturnValue : tile<f32>
    }
    return
  }
}

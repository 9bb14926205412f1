cuda_tile.module @_ {
  global  @a.b$c <i64: [3, 7]> : tile<2xi64>
  global  constant @entry <i16: 0> : tile<1xi16>
  global  constant @"a-b" <i64: -9223372036854775808> : tile<2xi64>
  entry @"gr\C3\B6\C3\9Fe"(%arg0: tile<ptr<tf32>>, %arg1: tile<ptr<i1>>, %arg2: tile<f16>, %arg3: tile<ptr<f64>>) optimization_hints=<sm_90 = {latency = true, occupancy = 32}> {
    %cst_i16 = constant <i16: "0x3A9552670700C6380100000003005AD196000080FFFF0700B2D60200648695F869820300000000800387F98DAB8D155E640062BD2A00010000801160BF67FFFF64002A00008000006400070064000200030002000700020007000080FFFF008000800200FFFF3BEC0080DB94FFFF640000800300FFFF0300687BF07E00000200070000004F640300FFFFA6AF01C358DB2DB403000000BC9613C52A000000FFFF03000200AA57DC910700008064000300020000002A0067F5E9BA65200000FFFF6C0FFFFFD0BCFFFF010048862A0000800300B3F2000067C8716B6400020000802A0034FDD4D92A0002003E2C0700F210640064000080008064001B91E3AC0300"> : tile<32x4xi16>
    %0 = itof %cst_i16 unsigned  : tile<32x4xi16> -> tile<32x4xbf16>
    %cst_i64 = constant <i64: [[7, 1], [-9053798000870251374, 2]]> : tile<2x2xi64>
    %1 = int_to_ptr %cst_i64 : tile<2x2xi64> -> tile<2x2xptr<f4E2M1FN>>
    %2 = ptr_to_ptr %1 : tile<2x2xptr<f4E2M1FN>> -> tile<2x2xptr<f4E2M1FN>>
    %cst_-920687197288404581_i64 = constant <i64: -920687197288404581> : tile<2x32x1xi64>
    %3 = int_to_ptr %cst_-920687197288404581_i64 : tile<2x32x1xi64> -> tile<2x32x1xptr<i64>>
    %4 = ptr_to_int %3 : tile<2x32x1xptr<i64>> -> tile<2x32x1xi64>
    %cst_3_i64 = constant <i64: 3> : tile<i64>
    %5 = int_to_ptr %cst_3_i64 : tile<i64> -> tile<ptr<f8E8M0FNU>>
    %6 = ptr_to_ptr %5 : tile<ptr<f8E8M0FNU>> -> tile<ptr<f8E8M0FNU>>
    %cst_-7968487115528800618_i64 = constant <i64: -7968487115528800618> : tile<8x2xi64>
    %7 = int_to_ptr %cst_-7968487115528800618_i64 : tile<8x2xi64> -> tile<8x2xptr<i1>>
    return
  }
}
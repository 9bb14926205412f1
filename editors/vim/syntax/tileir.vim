" Vim syntax file
" Language: CUDA Tile IR
" The words between the marks are written by `make docs` from the declarations.

if exists('b:current_syntax')
  finish
endif
let s:save = &cpoptions
set cpoptions&vim

syntax case match
syntax iskeyword @,48-57,_

" words: begin
syntax keyword tileirControl assert break continue else for if loop return yield
syntax keyword tileirDefinition entry global module
syntax keyword tileirOperation absf absi addf addi alloca andi assume assume_cond atan2 atomic_cas_tko atomic_load_tko
syntax keyword tileirOperation atomic_red_view_tko atomic_rmw_tko atomic_store_tko barrier bitcast brev broadcast cat ceil clz cmpf
syntax keyword tileirOperation cmpi constant cos cosh ctz divf divi exp exp2 exti extract floor fma fpowf fpowi ftof ftoi
syntax keyword tileirOperation gdc_launch_dependents_tko gdc_wait_tko get_global get_index_space_shape get_num_tile_blocks
syntax keyword tileirOperation get_tensor_shape get_tile_block_id insert int_to_ptr iota itof join_tokens load_ptr_tko
syntax keyword tileirOperation load_view_tko log log10 log1p log2 make_gather_scatter_view make_partition_view make_strided_view
syntax keyword tileirOperation make_tensor_view make_token maxf maxi maximumf memory_fence_alias_tko minf mini minimumf mmaf
syntax keyword tileirOperation mmaf_scaled mmai mulf mulhi mulhii muli multimem_load_reduce_view_tko multimem_reduce_view_tko
syntax keyword tileirOperation multimem_store_view_tko negf negi negsi noti offset ori pack permute popcnt pow powf print print_tko
syntax keyword tileirOperation ptr_to_int ptr_to_ptr recipf reduce remf remi reshape rsqrt scan select shli shri sigmoid sin sinh
syntax keyword tileirOperation sqrt store_ptr_tko store_view_tko subf subi tan tanh tanhf trunci unpack unrealized_conversion_cast
syntax keyword tileirOperation xori
syntax keyword tileirType gather_scatter_view partition_view ptr strided_view tensor_view tile token bf16 f16 f32 f4E2M1FN f64
syntax keyword tileirType f8E4M3FN f8E5M2 f8E8M0FNU fnv8E5M3FNU i1 i16 i32 i4 i64 i8 tf32
syntax keyword tileirConstant acq_rel acquire add addu and approx block cluster device equal exchange full gpu greater_than
syntax keyword tileirConstant greater_than_or_equal less_than less_than_or_equal max min nan nearest_away nearest_even
syntax keyword tileirConstant nearest_int_to_zero neg_inf neg_zero negative_inf no_signed_wrap no_unsigned_wrap no_wrap none
syntax keyword tileirConstant not_equal or ordered pos_inf positive_inf private public relaxed release seq_cst signed sys tl_blk
syntax keyword tileirConstant umax umin unordered unsigned warp weak xchg xor zero
syntax keyword tileirBoolean false true
syntax keyword tileirWord alignment allow_tma along array at attributes bounded callsite column compileUnit dense dim dim_map
syntax keyword tileirWord div_by every fast_acc file flush_to_zero fused identities in inbounds iter_values latency layout
syntax keyword tileirWord line linkageName loc multicast name num_cta_in_cga num_elem num_worker_warps_per_cta occupancy
syntax keyword tileirWord optimization_hints overflow padding_value producer propagate_nan reverse rounding same_elements
syntax keyword tileirWord saturating scope scopeLine shape sm_100 sm_103 sm_107 sm_110 sm_120 sm_121 sm_80 sm_86 sm_87 sm_88
syntax keyword tileirWord sm_89 sm_90 sparse_dim step strict stride strides string to traversal_strides type unicast unit
syntax keyword tileirWord unknown
" words: end

syntax match tileirDialect "\<\%(cuda_tile\|builtin\)\."
syntax match tileirAttribute "\<\h[[:alnum:]_$.]*\ze\s*=\%([^=]\|$\)"
syntax match tileirNumber "\<\d\+\%(\.\d*\%([eE][+-]\=\d\+\)\=\)\="
" In a type, `x` separates extents: what follows them is an element type, or a type with brackets.
syntax match tileirExtents "\%(\<\d\+\|?\)x\%(\%(\d\+\|?\)x\)*\%(\d\+\>\)\=" nextgroup=tileirElement
" Behind the extents, of which it would be taken for one.
syntax match tileirNumber "\<0x\x\+"
syntax match tileirElement "\%(\h\w*\)\>" contained
syntax match tileirValue "%[[:alnum:]_$.-]\+\%(#\d\+\)\="
syntax match tileirSymbol "@[[:alpha:]_$][[:alnum:]_$.-]*"
syntax match tileirSymbol +@"\%([^"\\]\|\\.\)*"+
syntax match tileirLabel "\^[[:alnum:]_$.-]\+"
syntax match tileirAlias "[#!]\h[[:alnum:]_$.-]*"
syntax match tileirArrow "->"
syntax match tileirEscape "\\\%([nt"\\]\|\x\x\)" contained
syntax region tileirString start=+"+ skip=+\\.+ end=+"+ end=+$+ contains=tileirEscape oneline
syntax match tileirGeneric +"\h\w*\.[[:alnum:]_$.]\+"\ze\s*[(<]+
syntax keyword tileirTodo TODO FIXME XXX contained
syntax match tileirComment "//.*$" contains=tileirTodo,@Spell

syntax sync minlines=1

highlight default link tileirControl Statement
highlight default link tileirDefinition Structure
highlight default link tileirOperation Function
highlight default link tileirDialect PreProc
highlight default link tileirType Type
highlight default link tileirElement Type
highlight default link tileirExtents Number
highlight default link tileirConstant Constant
highlight default link tileirBoolean Boolean
highlight default link tileirWord Keyword
highlight default link tileirAttribute Identifier
highlight default link tileirNumber Number
highlight default link tileirValue Identifier
highlight default link tileirSymbol Function
highlight default link tileirLabel Label
highlight default link tileirAlias PreProc
highlight default link tileirArrow Operator
highlight default link tileirString String
highlight default link tileirEscape SpecialChar
highlight default link tileirGeneric Function
highlight default link tileirComment Comment
highlight default link tileirTodo Todo

let b:current_syntax = 'tileir'
let &cpoptions = s:save
unlet s:save

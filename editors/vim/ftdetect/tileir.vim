" Tile programs have names of their own, or are MLIR files that say so in their first lines.
augroup tileir_detect
  autocmd!
  autocmd BufNewFile,BufRead *.tileir,*.tileir.mlir setfiletype tileir
  autocmd BufNewFile,BufRead *.mlir call s:Detect()
augroup END

" As the language server and the other editors here do it: an operation that only the dialect has.
function! s:Detect() abort
  for line in getline(1, 200)
    if line =~# '^\s*\%(cuda_tile\.module\|\%(cuda_tile\.\)\=entry\)\s\+@' || line =~# '"cuda_tile\.module"'
      " MLIR's own file type may have been set before.
      set filetype=tileir
      return
    endif
  endfor
endfunction

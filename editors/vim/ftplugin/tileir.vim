" Vim file type plugin
" Language: CUDA Tile IR

if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=://
setlocal commentstring=//\ %s
setlocal expandtab shiftwidth=2 softtabstop=2
" `%name`, `@name` and `#name` are one word for `*` and completion.
setlocal iskeyword=@,48-57,_,$,.,-,%,@-@,#
setlocal suffixesadd=.mlir,.tileir

if executable('tileir')
  setlocal makeprg=tileir\ check\ %:S
  setlocal errorformat=%Eerror:\ %m,%Wwarning:\ %m,%Iremark:\ %m,%Inote:\ %m,%C\ %#-->\ %f:%l:%c,%-G%.%#
endif

let b:undo_ftplugin = 'setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< iskeyword< suffixesadd< makeprg< errorformat<'

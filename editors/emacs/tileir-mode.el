;;; tileir-mode.el --- Major mode for CUDA Tile IR programs -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; URL: https://github.com/tileir/tileir
;; Package-Requires: ((emacs "27.1"))
;; Keywords: languages
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Colors, comments, indentation and an index of entries for tile programs, the language server `tileir lsp' through
;; Eglot or lsp-mode, and `tileir debug' through dape where those are there.
;;
;;     (add-to-list 'load-path "PATH/editors/emacs")
;;     (require 'tileir-mode)
;;
;; Files called *.tileir or *.tileir.mlir are tile programs, and so are *.mlir files that have a `cuda_tile.module' or
;; an `entry' among their first lines.  The words between the marks below are written by `make docs' from the
;; declarations.

;;; Code:

(require 'rx)

(defgroup tileir nil
  "CUDA Tile IR programs."
  :group 'languages
  :prefix "tileir-")

(defcustom tileir-command "tileir"
  "The command of tileir: the language server is this with the argument lsp."
  :type 'string)

(defcustom tileir-indent-offset 2
  "How far the operations of a region are indented."
  :type 'natnum
  :safe #'natnump)

;; words: begin
(defconst tileir-mode--control
  '("assert" "break" "continue" "else" "for" "if" "loop" "return" "yield")
  "Operations that change what runs next.")

(defconst tileir-mode--definitions
  '("entry" "global" "module")
  "Operations that define a symbol.")

(defconst tileir-mode--operations
  '("absf" "absi" "addf" "addi" "alloca" "andi" "assume" "assume_cond" "atan2" "atomic_cas_tko"
    "atomic_load_tko" "atomic_red_view_tko" "atomic_rmw_tko" "atomic_store_tko" "barrier" "bitcast"
    "brev" "broadcast" "cat" "ceil" "clz" "cmpf" "cmpi" "constant" "cos" "cosh" "ctz" "divf" "divi"
    "exp" "exp2" "exti" "extract" "floor" "fma" "fpowf" "fpowi" "ftof" "ftoi"
    "gdc_launch_dependents_tko" "gdc_wait_tko" "get_global" "get_index_space_shape"
    "get_num_tile_blocks" "get_tensor_shape" "get_tile_block_id" "insert" "int_to_ptr" "iota" "itof"
    "join_tokens" "load_ptr_tko" "load_view_tko" "log" "log10" "log1p" "log2" "make_gather_scatter_view"
    "make_partition_view" "make_strided_view" "make_tensor_view" "make_token" "maxf" "maxi" "maximumf"
    "memory_fence_alias_tko" "minf" "mini" "minimumf" "mmaf" "mmaf_scaled" "mmai" "mulf" "mulhi"
    "mulhii" "muli" "multimem_load_reduce_view_tko" "multimem_reduce_view_tko" "multimem_store_view_tko"
    "negf" "negi" "negsi" "noti" "offset" "ori" "pack" "permute" "popcnt" "pow" "powf" "print"
    "print_tko" "ptr_to_int" "ptr_to_ptr" "recipf" "reduce" "remf" "remi" "reshape" "rsqrt" "scan"
    "select" "shli" "shri" "sigmoid" "sin" "sinh" "sqrt" "store_ptr_tko" "store_view_tko" "subf" "subi"
    "tan" "tanh" "tanhf" "trunci" "unpack" "unrealized_conversion_cast" "xori")
  "All other operations.")

(defconst tileir-mode--types
  '("gather_scatter_view" "partition_view" "ptr" "strided_view" "tensor_view" "tile" "token" "bf16"
    "f16" "f32" "f4E2M1FN" "f64" "f8E4M3FN" "f8E5M2" "f8E8M0FNU" "fnv8E5M3FNU" "i1" "i16" "i32" "i4"
    "i64" "i8" "tf32")
  "Types of the dialect and of elements.")

(defconst tileir-mode--constants
  '("acq_rel" "acquire" "add" "addu" "and" "approx" "block" "cluster" "device" "equal" "exchange" "full"
    "gpu" "greater_than" "greater_than_or_equal" "less_than" "less_than_or_equal" "max" "min" "nan"
    "nearest_away" "nearest_even" "nearest_int_to_zero" "neg_inf" "neg_zero" "negative_inf"
    "no_signed_wrap" "no_unsigned_wrap" "no_wrap" "none" "not_equal" "or" "ordered" "pos_inf"
    "positive_inf" "private" "public" "relaxed" "release" "seq_cst" "signed" "sys" "tl_blk" "umax"
    "umin" "unordered" "unsigned" "warp" "weak" "xchg" "xor" "zero" "false" "true")
  "Words for the values of attributes.")

(defconst tileir-mode--syntax
  '("alignment" "allow_tma" "along" "array" "at" "attributes" "bounded" "callsite" "column"
    "compileUnit" "dense" "dim" "dim_map" "div_by" "every" "fast_acc" "file" "flush_to_zero" "fused"
    "identities" "in" "inbounds" "iter_values" "latency" "layout" "line" "linkageName" "loc" "multicast"
    "name" "num_cta_in_cga" "num_elem" "num_worker_warps_per_cta" "occupancy" "optimization_hints"
    "overflow" "padding_value" "producer" "propagate_nan" "reverse" "rounding" "same_elements"
    "saturating" "scope" "scopeLine" "shape" "sm_100" "sm_103" "sm_107" "sm_110" "sm_120" "sm_121"
    "sm_80" "sm_86" "sm_87" "sm_88" "sm_89" "sm_90" "sparse_dim" "step" "strict" "stride" "strides"
    "string" "to" "traversal_strides" "type" "unicast" "unit" "unknown")
  "Other words of the syntax.")
;; words: end

(defvar tileir-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?$ "_" table)
    (modify-syntax-entry ?. "_" table)
    (modify-syntax-entry ?% "'" table)
    (modify-syntax-entry ?@ "'" table)
    (modify-syntax-entry ?# "'" table)
    (modify-syntax-entry ?! "'" table)
    (modify-syntax-entry ?^ "'" table)
    (modify-syntax-entry ?\" "\"" table)
    table)
  "Syntax table of `tileir-mode'.")

(defun tileir-mode--words (words)
  "A regular expression for WORDS that are no part of a longer name."
  (concat "\\(?:^\\|[^[:alnum:]_$.%@#!^-]\\)\\(\\(?:\\(?:cuda_tile\\|builtin\\)\\.\\)?"
          (regexp-opt words) "\\)\\_>"))

(defconst tileir-mode-font-lock-keywords
  `((,(rx (group "%" (+ (any alnum "_$.-")) (? "#" (+ digit)))) 1 font-lock-variable-name-face)
    (,(rx (group "@" (any alpha "_$") (* (any alnum "_$.-")))) 1 font-lock-function-name-face)
    (,(rx (group "^" (+ (any alnum "_$.-")))) 1 font-lock-constant-face)
    (,(rx (group (any "#!") (any alpha "_") (* (any alnum "_$.-")))) 1 font-lock-preprocessor-face)
    ;; Extents and what they are extents of: `4x?xf32'.
    (,(rx (group (+ (or (+ digit) "?") "x")) (group (* (any alnum "_"))))
     (1 font-lock-constant-face) (2 font-lock-type-face))
    (,(rx symbol-start (group (any alpha "_") (* (any alnum "_$."))) (* blank) "=" (or (not (any "=")) eol))
     1 font-lock-property-face)
    (,(tileir-mode--words tileir-mode--control) 1 font-lock-keyword-face)
    (,(tileir-mode--words tileir-mode--definitions) 1 font-lock-keyword-face)
    (,(tileir-mode--words tileir-mode--operations) 1 font-lock-builtin-face)
    (,(tileir-mode--words tileir-mode--types) 1 font-lock-type-face)
    (,(tileir-mode--words tileir-mode--constants) 1 font-lock-constant-face)
    (,(tileir-mode--words tileir-mode--syntax) 1 font-lock-keyword-face)
    (,(rx symbol-start (group (or (: "0x" (+ xdigit)) (: (+ digit) (? "." (* digit) (? (any "eE") (? (any "+-"))
                                                                                      (+ digit)))))) symbol-end)
     1 font-lock-constant-face))
  "What `tileir-mode' colors, besides comments and strings.")

;; Emacs 29 has a face for this.
(unless (facep 'font-lock-property-face)
  (defvar font-lock-property-face 'font-lock-variable-name-face))

(defun tileir-mode-indent-line ()
  "Indent the line by how many brackets are open where it begins."
  (interactive)
  (let* ((depth (save-excursion
                  (back-to-indentation)
                  (let ((open (car (syntax-ppss))))
                    (if (looking-at "[])}]") (1- open) open))))
         (column (* tileir-indent-offset (max 0 depth))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

;;;###autoload
(define-derived-mode tileir-mode prog-mode "Tile IR"
  "Major mode for CUDA Tile IR programs."
  (setq-local comment-start "// ")
  (setq-local comment-start-skip "//+[ \t]*")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'tileir-mode-indent-line)
  (setq-local imenu-generic-expression
              `(("Entries" ,(rx bol (* blank) (? "cuda_tile.") "entry" (+ blank) "@" (group (+ (any alnum "_$.-")))) 1)
                ("Globals" ,(rx bol (* blank) (? "cuda_tile.") "global" (*? nonl) "@" (group (+ (any alnum "_$.-")))) 1)))
  (setq-local compile-command (format "%s check %s" tileir-command
                                      (shell-quote-argument (or buffer-file-name "-"))))
  (setq-local font-lock-defaults '(tileir-mode-font-lock-keywords)))

(defun tileir-mode--program-p ()
  "Whether the buffer is an MLIR file of the dialect, by its first lines."
  (and buffer-file-name
       (string-match-p "\\.mlir\\'" buffer-file-name)
       (save-excursion
         (goto-char (point-min))
         (re-search-forward
          (rx bol (* blank) (or (: "cuda_tile.module" (+ blank) "@") (: (? "cuda_tile.") "entry" (+ blank) "@")
                                "\"cuda_tile.module\""))
          (save-excursion (forward-line 200) (point)) t))))

;;;###autoload
(progn
  (add-to-list 'auto-mode-alist '("\\.tileir\\(?:\\.mlir\\)?\\'" . tileir-mode))
  ;; Looked at before `auto-mode-alist', where MLIR's own mode may have its entry.
  (add-to-list 'magic-mode-alist '(tileir-mode--program-p . tileir-mode)))

;; What `eglot', `lsp-mode' and `dape' need to know; each is told when it is loaded.
(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               `((tileir-mode :language-id "tileir") . ,(lambda (&rest _) (list tileir-command "lsp")))))

(defvar lsp-language-id-configuration)
(declare-function lsp-register-client "ext:lsp-mode")
(declare-function make-lsp-client "ext:lsp-mode")
(declare-function lsp-stdio-connection "ext:lsp-mode")
(with-eval-after-load 'lsp-mode
  (add-to-list 'lsp-language-id-configuration '(tileir-mode . "tileir"))
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection (lambda () (list tileir-command "lsp")))
                    :activation-fn (lambda (_file mode) (eq mode 'tileir-mode))
                    :server-id 'tileir)))

;; `M-x dape' in a program, then `tileir': the launch that its comment states.
(defvar dape-configs)
(with-eval-after-load 'dape
  (add-to-list 'dape-configs
               `(tileir
                 modes (tileir-mode)
                 ensure dape-ensure-command
                 command ,tileir-command
                 command-args ("debug" "--dap")
                 :type "tileir"
                 :request "launch"
                 :program dape-buffer-default
                 :stopOnEntry t)))

(provide 'tileir-mode)
;;; tileir-mode.el ends here

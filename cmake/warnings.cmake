# SPDX-License-Identifier: Apache-2.0
# What every file of ours is compiled with. Never -ffast-math: infinities and NaN mean something here.

function(posenc_our_code target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion)
  if(POSENC_DEVELOPER)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

if(POSENC_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

// SPDX-License-Identifier: Apache-2.0
/// The list of encodings. Everything else in the library, the package and the page derives from it:
/// a new encoding is one header, the two lines here, and one test file.
#pragma once

#include "posenc/encodings/alibi.hpp"
#include "posenc/encodings/cope.hpp"
#include "posenc/encodings/deberta.hpp"
#include "posenc/encodings/decomposed.hpp"
#include "posenc/encodings/dynamic_bias.hpp"
#include "posenc/encodings/fire.hpp"
#include "posenc/encodings/forgetting.hpp"
#include "posenc/encodings/kerple.hpp"
#include "posenc/encodings/learned.hpp"
#include "posenc/encodings/none.hpp"
#include "posenc/encodings/rotary/dual_chunk.hpp"
#include "posenc/encodings/rotary/leaky_rerope.hpp"
#include "posenc/encodings/rotary/mrope.hpp"
#include "posenc/encodings/rotary/pope.hpp"
#include "posenc/encodings/rotary/rerope.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "posenc/encodings/rotary/rope_2d.hpp"
#include "posenc/encodings/rotary/rope_dynamic_ntk.hpp"
#include "posenc/encodings/rotary/rope_linear.hpp"
#include "posenc/encodings/rotary/rope_llama3.hpp"
#include "posenc/encodings/rotary/rope_longrope.hpp"
#include "posenc/encodings/rotary/rope_mixed.hpp"
#include "posenc/encodings/rotary/rope_ntk.hpp"
#include "posenc/encodings/rotary/rope_ntk_by_parts.hpp"
#include "posenc/encodings/rotary/rope_power.hpp"
#include "posenc/encodings/rotary/rope_proportional.hpp"
#include "posenc/encodings/rotary/rope_truncated.hpp"
#include "posenc/encodings/rotary/rope_yarn.hpp"
#include "posenc/encodings/rotary/self_extend.hpp"
#include "posenc/encodings/rotary/xpos.hpp"
#include "posenc/encodings/sandwich.hpp"
#include "posenc/encodings/shaw.hpp"
#include "posenc/encodings/sinusoidal.hpp"
#include "posenc/encodings/sinusoidal_2d.hpp"
#include "posenc/encodings/t5.hpp"
#include "posenc/encodings/transformer_xl.hpp"
#include "posenc/encodings/window/swin.hpp"
#include "posenc/encodings/window/swin_v2.hpp"

namespace posenc {

template <class... E>
struct TypeList {};

using Encodings = TypeList<  //
    None,                    //
    Learned,                 //
    Sinusoidal,              //
    Sinusoidal2d,            //
    Rope,                    //
    RopeLinear,              //
    RopeNtk,                 //
    RopeDynamicNtk,          //
    RopeNtkByParts,          //
    RopeYarn,                //
    RopeLongrope,            //
    RopeLlama3,              //
    RopeProportional,        //
    RopePower,               //
    RopeTruncated,           //
    Xpos,                    //
    Rerope,                  //
    LeakyRerope,             //
    SelfExtend,              //
    DualChunk,               //
    Mrope,                   //
    Rope2d,                  //
    RopeMixed,               //
    Pope,                    //
    Alibi,                   //
    T5,                      //
    Shaw,                    //
    TransformerXl,           //
    Kerple,                  //
    Sandwich,                //
    Fire,                    //
    Cope,                    //
    Deberta,                 //
    Swin,                    //
    SwinV2,                  //
    Decomposed,              //
    Forgetting,              //
    DynamicBias>;

/// Calls `f.template operator()<E>()` for each type; stops at the first call that returns true.
template <class F, class... E>
constexpr bool any_encoding(TypeList<E...>, F&& f) {
  return (f.template operator()<E>() || ...);
}

}  // namespace posenc

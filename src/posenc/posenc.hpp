// SPDX-License-Identifier: Apache-2.0
/// posenc: positional encodings for transformers, and the attention that uses them.
#pragma once

// Encodings: `make_encoding(id, options)`, or a class and its Options directly.
#include "posenc/encodings/make_encoding.hpp"
#include "posenc/encodings/registry.hpp"

// The sites on their own: `embed`, `rotate`, `bias`.
#include "posenc/core/apply.hpp"

// `attention(arguments)`, with any of the encodings inside.
#include "posenc/attention/arguments.hpp"
#include "posenc/attention/merge.hpp"

// `attention_backward(arguments)`: gradients of q, k, v and of learned options.
#include "posenc/attention/backward.hpp"

// `instruction_set()`: which kernels are in use, and `use_instruction_set` to use others.
#include "posenc/core/instruction_set.hpp"

// `KVCache`: keys and values kept between calls of attention.
#include "posenc/cache/kv_cache.hpp"

// SPDX-License-Identifier: Apache-2.0
// Where the kernels are compiled that take nearly all of a call's time: POSENC_KERNEL names them.
#define POSENC_DEFINE_KERNELS
#include "posenc/attention/direct.hpp"
#include "posenc/attention/online_softmax.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/core/rotation.hpp"
#include "posenc/core/tanh.hpp"
#include "posenc/core/vector_table.hpp"
#include "posenc/core/widen.hpp"

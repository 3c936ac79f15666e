// SPDX-License-Identifier: Apache-2.0
// Small stand-ins for what Embind pulls out of the standard libraries and its own. It registers every
// type it knows, strings, values and views of memory among them, whose code in the glue took 4 KB
// brotli; here are the numbers that cross. And it formats the names of types it was not told of, with
// 14 KB of printf: every type here is bound, and a test calls every function, so none is ever shown.
#include <cstdlib>
#include <limits>

#include <emscripten/bind.h>
#include <emscripten/wire.h>

namespace {

using namespace emscripten::internal;

InitFunc* first_init = nullptr;

template <class T>
void register_integer(const char* name) {
  _embind_register_integer(TypeID<T>::get(), name, sizeof(T), std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max());
}

}  // namespace

extern "C" {
void _embind_register_bindings(InitFunc* init) {
  init->next = first_init;
  first_init = init;
}
void _embind_initialize_bindings() {
  for (InitFunc* init = first_init; init != nullptr; init = init->next) init->init_func();
}
const char* __getTypeName(const std::type_info*) {
  return static_cast<char*>(std::calloc(1, 1));  // the glue frees it
}
}

EMSCRIPTEN_BINDINGS(posenc_types) {
  _embind_register_void(TypeID<void>::get(), "void");
  _embind_register_bool(TypeID<bool>::get(), "bool", true, false);
  register_integer<int>("int");
  register_integer<unsigned>("unsigned");
  register_integer<unsigned long>("unsigned long");
  _embind_register_float(TypeID<double>::get(), "double", sizeof(double));
}

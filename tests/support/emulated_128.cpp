// SPDX-License-Identifier: Apache-2.0
#include "support/define_at_width.hpp"

namespace reference {

using Emulated = xsimd::emulated<128>;

template posenc::Status attend_at<Emulated>(const posenc::AttentionArguments&);
template posenc::Result<posenc::Encoding> make_encoding<Emulated>(std::string_view,
                                                                  const posenc::OptionBag&);

}  // namespace reference

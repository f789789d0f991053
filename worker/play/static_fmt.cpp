// SPDX-License-Identifier: Apache-2.0
// fmt comes as a shared library only; a static program carries the parts it uses itself, without
// std::locale.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <fmt/format-inl.h>

template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(locale_ref);
template char fmt::detail::decimal_point_impl(locale_ref);

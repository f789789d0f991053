// SPDX-License-Identifier: Apache-2.0
// Lists of hosts as Slurm writes them: "n[1-4,7],login1". "*" stands for any run of characters.
// Pure.
#pragma once

#include <string_view>

namespace batchsweep::agent {

// "" names every host.
[[nodiscard]] bool host_list_contains(std::string_view list, std::string_view host);

}  // namespace batchsweep::agent

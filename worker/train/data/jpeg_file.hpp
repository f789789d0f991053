// SPDX-License-Identifier: Apache-2.0
// The bytes of a JPEG file, and whether they are all there. Decodes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace batchsweep::train {

// Into `bytes`, whose memory is used again; what went wrong, if anything did.
[[nodiscard]] std::optional<std::string> read_bytes(const std::string& path,
                                                    std::vector<std::uint8_t>& bytes);

// Does the marker of the end follow the last scan? (ITU-T T.81, annex B: segments carry their
// length, and within a scan a byte 0xFF is followed by 0 or by the number of a restart.) What
// stands behind it does not matter, and an image within the header, as cameras put there, is not
// looked at.
[[nodiscard]] bool has_end(std::span<const std::uint8_t> jpeg);

}  // namespace batchsweep::train

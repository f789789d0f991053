// SPDX-License-Identifier: Apache-2.0
#include "cli/present.hpp"

#include <gmock/gmock.h>

namespace batchsweep::cli {
namespace {

using testing::ElementsAre;

protocol::Register agent(const std::string& host,
                         const std::vector<std::pair<std::string, std::string>>& offers) {
  protocol::Register registration;
  registration.host.hostname = host;
  for (const auto& [type, uuid] : offers) {
    protocol::DeviceOffer offer;
    offer.type = type;
    offer.uuid = uuid;
    registration.devices.push_back(offer);
  }
  return registration;
}

TEST(Present, ADeviceThatTwoAgentsOfAHostOfferIsOne) {
  const Present present = present_of({agent("n1", {{"a", "u1"}, {"b", "u1"}, {"a", "u2"}}),
                                      agent("n1", {{"a", "u2"}}), agent("n2", {{"a", "u3"}})});
  EXPECT_THAT(present.types, ElementsAre("a", "b"));
  EXPECT_THAT(present.targets.hosts.at("a"), ElementsAre("n1", "n2"));
  EXPECT_THAT(present.targets.devices.at("a"), ElementsAre("u1", "u2", "u3"));
  ASSERT_EQ(present.devices.size(), 4U);
  EXPECT_EQ(present.devices[0].unit, present.devices[1].unit) << "two views on one device";
  EXPECT_EQ(present.devices[3].host, 1U);
}

}  // namespace
}  // namespace batchsweep::cli

// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol/trial_input.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace batchsweep::protocol {
namespace {

using testing::HasSubstr;

TEST(TrialInput, ComesBackAsItWas) {
  TrialInput input{.trial_id = "0123456789abcdef",
                   .repeat = 1,
                   .attempt = 2,
                   .seed = 18446744073709551615U,
                   .rank = 3,
                   .local_rank = 1,
                   .local_world_size = 2,
                   .network = TrialNetwork{.address = "10.0.0.3", .interface = "ib0"},
                   .device = {.kind = sweeps::DeviceKind::kCuda,
                              .type = "H100",
                              .uuid = "GPU-1",
                              .limit_bytes = 5,
                              .threads = 2}};
  input.spec.model = "resnet18";
  input.spec.batch_size = 64;
  EXPECT_EQ(trial_input_from_json(Json::parse(dump(to_json(input)))), input);
  input.device.limit_bytes.reset();
  input.network.reset();
  input.play = sweeps::PlayScript{.setup_s = 0.5,
                                  .step_times_s = {0.25, 0.125},
                                  .allocated_bytes = 7,
                                  .reserved_bytes = 8,
                                  .fault = sweeps::Fault::kExit,
                                  .fault_exit_code = 3,
                                  .fault_step = 4};
  EXPECT_EQ(trial_input_from_json(Json::parse(dump(to_json(input)))), input);
}

TEST(TrialInput, OfAnotherProtocolOrShapeIsRefused) {
  const auto refusal = [](const char* text) {
    try {
      (void)trial_input_from_json(Json::parse(text));
    } catch (const ProtocolError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal(R"({"protocol":2})"), HasSubstr("trial protocol 2, this program speaks 1"));
  EXPECT_THAT(refusal(R"({"protocol":1})"), HasSubstr("trial_id"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not understood"));
  EXPECT_THAT(refusal(R"({"protocol":1,"trial_id":"x","spec":{},"device":{"kind":"tpu"}})"),
              HasSubstr("'tpu'"));
}

}  // namespace
}  // namespace batchsweep::protocol

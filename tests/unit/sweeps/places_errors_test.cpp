// SPDX-License-Identifier: Apache-2.0
// Where ranks may lie: what contradicts itself, and what no declared cluster could hold.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::sweeps {
namespace {

// Lines 1 to 5; `places` begins in line 6. Nodes of 4 and of 2 devices where the cluster is
// declared.
std::string finding(const std::string& places, bool declared_nodes = false) {
  std::string text = "[sweep]\nname = \"s\"\n[grid]\nmodel = \"any\"\nbatch_size = 8\n" + places +
                     "[[device]]\nname = \"small\"\nkind = \"cpu\"\nmemory = \"1 GiB\"\n"
                     "[rehearsal]\n";
  if (declared_nodes)
    text +=
        "mode = \"simulated\"\n[[rehearsal.node]]\ndevices = { small = 4 }\n"
        "[[rehearsal.node]]\ndevices = { small = 2 }\n";
  try {
    (void)read_sweep_text(text + "[[rehearsal.rule]]\n", "x.toml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PlacesErrors, WhatContradictsItself) {
  EXPECT_EQ(
      finding("world_size = [1, 2, 3]\nnum_nodes = [\"min\", 2]\n"),
      "x.toml: line 7, column 13: grid.num_nodes: world_size 1 does not divide by num_nodes 2: "
      "each node takes equally many ranks; choose another or [[exclude]] it\nx.toml: line 7, "
      "column 13: grid.num_nodes: world_size 3 does not divide by num_nodes 2: each node takes "
      "equally many ranks; choose another or [[exclude]] it");
  EXPECT_EQ(
      finding("world_size = [1, 2]\nplacement = \"each-device\"\n"),
      "x.toml: line 7, column 13: grid.placement: \"each-device\" pins a trial to one device, "
      "but world_size is 2: use \"each-node\", or [[exclude]] it");
  EXPECT_EQ(
      finding("world_size = 2\nnum_nodes = 2\nplacement = \"each-node\"\n"),
      "x.toml: line 8, column 13: grid.placement: \"each-node\" pins a trial to one node, but "
      "num_nodes is 2: [[exclude]] it");
}

TEST(PlacesErrors, AnExcludeThatLooksAtPlacesExcuses) {
  EXPECT_EQ(finding("world_size = [1, 2, 4]\nnum_nodes = [\"min\", 2]\n[[exclude]]\nworld_size = "
                    "1\nnum_nodes = 2\n"),
            "no error");
}

TEST(PlacesErrors, WhatNoDeclaredClusterCouldHold) {
  EXPECT_EQ(finding("world_size = [4, 6]\n", true), "no error");
  EXPECT_EQ(
      finding("world_size = [4, 7]\n", true),
      "x.toml: line 6, column 14: grid.world_size: no declared node could hold 7 ranks: at most "
      "6 devices of one type are declared");
  EXPECT_EQ(
      finding("world_size = [2, 4, 6]\nnum_nodes = 2\n", true),
      "x.toml: line 7, column 13: grid.num_nodes: no 2 declared nodes could hold 6 ranks of one "
      "type");
  EXPECT_EQ(finding("world_size = [4, 600]\n"), "no error") << "it depends on the hosts";
}

}  // namespace
}  // namespace batchsweep::sweeps

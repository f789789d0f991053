// SPDX-License-Identifier: Apache-2.0
// [cluster] and [prices]: read and checked whole. Nothing acts on [prices] yet, so a sweep file that
// holds it is refused.
#include <fmt/format.h>

#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/not_yet.hpp"
#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {

void read_prices(TableReader& document, MachineIn file, ReadContext& context) {
  auto prices = document.table("prices");
  if (!prices) return;
  for (const TomlMember& member : prices->node().members) {
    auto price = prices->table(member.key);
    if (!price) continue;
    if (find_gpu(member.key) == nullptr)
      context.findings.add(member.key_place, price->path(), unknown_card(member.key));
    (void)price->number("buy", 0, 1e9);
    (void)price->number("hour", 0, 1e6);
    const auto currency = price->name("currency");
    if (currency &&
        (currency->size() != 3 ||
         currency->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos)) {
      context.findings.add(
          price->node().find("currency")->place, price->key("currency"),
          fmt::format("expected three capitals such as \"EUR\", found \"{}\"", *currency));
    }
    price->refuse_unknown_keys();
  }
  if (file == MachineIn::kSweepFile)
    refuse_not_yet("prices", "", context.rehearsal, prices->place(), "prices", context.findings);
}

void read_cluster(TableReader& document, SweepSpec& sweep, ReadContext&) {
  auto cluster = document.table("cluster");
  if (!cluster) return;
  if (const auto interface = cluster->name("interface")) sweep.cluster_interface = *interface;
  cluster->refuse_unknown_keys();
}

}  // namespace batchsweep::sweeps

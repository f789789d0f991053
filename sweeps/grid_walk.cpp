// SPDX-License-Identifier: Apache-2.0
#include "sweeps/grid_walk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sweeps/axis_table.hpp"
#include "sweeps/grid.hpp"

namespace batchsweep::sweeps {
namespace {

__extension__ using Wide = unsigned __int128;

std::string to_decimal(Wide value) {
  std::string reversed;
  do {
    if (reversed.size() % 4 == 3) reversed += ',';
    reversed += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value > 0);
  return {reversed.rbegin(), reversed.rend()};
}

// Points of a block; nullopt over 2^128.
std::optional<Wide> count_points(const GridBlock& block) {
  Wide count = 1;
  for (const Axis& axis : block.axes) {
    Wide product = 0;
    if (__builtin_mul_overflow(count, Wide{axis.values.size()}, &product)) return std::nullopt;
    count = product;
  }
  return count;
}

// An own model is a built-in or a script with some of its options fixed: they win over [trial],
// axes win over them.
void apply_model(const SweepSpec& sweep, TrialSpec& spec) {
  const auto it = sweep.models.find(spec.model);
  if (it == sweep.models.end()) {
    spec.model_source = spec.model;
    return;
  }
  const TrialSpec& model = it->second;
  spec.model_source = model.model_source.empty() ? spec.model : model.model_source;
  spec.model_head = model.model_head;
  spec.model_weights = model.model_weights;
  spec.partial_weights = model.partial_weights;
  spec.input_shape = model.input_shape;
  spec.input_dtype = model.input_dtype;
  spec.input_vocabulary = model.input_vocabulary;
  spec.loss = model.loss;
  if (!model.data.empty()) spec.data = model.data;
  const auto take = [](auto& value, const auto& from) {
    if (from) value = from;
  };
  take(spec.image_height, model.image_height);
  take(spec.image_width, model.image_width);
  take(spec.num_classes, model.num_classes);
  take(spec.sequence_length, model.sequence_length);
  take(spec.dropout, model.dropout);
}

void note_data_hash(const SweepSpec& sweep, TrialSpec& spec) {
  const std::size_t colon = spec.data.find(':');
  if (colon == std::string::npos) {
    spec.data_hash.clear();
    return;
  }
  const auto it = sweep.file_hashes.find(spec.data.substr(colon + 1));
  spec.data_hash = it == sweep.file_hashes.end() ? std::string() : it->second;
}

// One block with its axes looked up once.
class Block {
 public:
  Block(const SweepSpec& sweep, const GridBlock& block)
      : sweep_(sweep), block_(block), digits_(block.axes.size()) {
    for (const Axis& axis : block.axes) axes_.push_back(find_axis(axis.name));
    const auto model = std::find_if(block.axes.begin(), block.axes.end(),
                                    [](const Axis& a) { return a.name == "model"; });
    model_at_ = static_cast<std::size_t>(model - block.axes.begin());
  }

  void set_index(std::uint64_t index) {
    for (std::size_t a = digits_.size(); a-- > 0;) {
      const std::uint64_t size = block_.axes[a].values.size();
      digits_[a] = index % size;
      index /= size;
    }
  }
  // Moves to the next point; returns the slowest axis that changed.
  std::size_t advance() {
    std::size_t a = digits_.size();
    while (a-- > 0) {
      if (++digits_[a] < block_.axes[a].values.size()) return a;
      digits_[a] = 0;
    }
    return 0;
  }
  // Brings `spec` to the current point, from axis `changed` on. What a model fixes must not outlive
  // it, so a new model starts from the base again.
  void apply(TrialSpec& spec, std::size_t changed) const {
    if (changed <= model_at_) {
      spec = sweep_.base;
      changed = 0;
    }
    for (std::size_t a = changed; a < axes_.size(); ++a) {
      axes_[a]->set(spec, block_.axes[a].values[digits_[a]]);
      if (a == model_at_) apply_model(sweep_, spec);
    }
    note_data_hash(sweep_, spec);
  }

 private:
  const SweepSpec& sweep_;
  const GridBlock& block_;
  std::vector<const AxisInfo*> axes_;
  std::vector<std::uint64_t> digits_;
  std::size_t model_at_ = 0;
};

bool is_excluded(const SweepSpec& sweep, const TrialSpec& spec) {
  return std::any_of(sweep.excludes.begin(), sweep.excludes.end(),
                     [&](const std::vector<AxisMatch>& lines) { return matches(spec, lines); });
}

bool is_wanted(const SweepSpec& sweep, const TrialSpec& spec) {
  const auto matching = [&](const std::vector<AxisMatch>& lines) { return matches(spec, lines); };
  return matching(sweep.part) &&
         (sweep.only.empty() || std::any_of(sweep.only.begin(), sweep.only.end(), matching));
}

void append_new(std::vector<AxisValue>& values, const AxisValue& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

std::vector<GridBlock> resolved_blocks(const SweepSpec& sweep,
                                       const std::vector<std::string>& present_types) {
  std::vector<GridBlock> blocks = sweep.grid;
  for (GridBlock& block : blocks) {
    if (block.axes.empty() || block.axes.front().name != "gpu")
      block.axes.insert(block.axes.begin(), Axis{"gpu", {"all"}});
    std::vector<AxisValue> gpus;
    for (const AxisValue& gpu : block.axes.front().values) {
      if (gpu != "all") append_new(gpus, gpu);
      for (const std::string& type : present_types) {
        if (gpu == "all") append_new(gpus, type);
      }
    }
    block.axes.front().values = std::move(gpus);
  }
  return blocks;
}

std::string too_many_points(const std::vector<GridBlock>& blocks) {
  Wide total = 0;
  bool overflow = false;
  for (const GridBlock& block : blocks) {
    const std::optional<Wide> count = count_points(block);
    overflow = overflow || !count || __builtin_add_overflow(total, *count, &total);
  }
  if (!overflow && total <= kMaxPoints) return "";
  return fmt::format("{} points: at most {} are planned",
                     overflow ? "more than 2^128" : to_decimal(total), to_decimal(kMaxPoints));
}

TrialSpec point_spec(const SweepSpec& sweep, const GridBlock& block, std::uint64_t index) {
  Block point(sweep, block);
  point.set_index(index);
  TrialSpec spec;
  point.apply(spec, 0);
  return spec;
}

void walk_grid(const SweepSpec& sweep, const std::vector<GridBlock>& blocks,
               const VisitPoint& visit) {
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const std::optional<Wide> count = count_points(blocks[b]);
    Block point(sweep, blocks[b]);
    TrialSpec spec;
    std::size_t changed = 0;
    for (std::uint64_t index = 0; index < static_cast<std::uint64_t>(count.value_or(0)); ++index) {
      point.apply(spec, changed);
      if (!is_excluded(sweep, spec) && is_wanted(sweep, spec)) visit(b, index, spec);
      changed = point.advance();
    }
  }
}

}  // namespace batchsweep::sweeps

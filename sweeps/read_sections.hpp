// SPDX-License-Identifier: Apache-2.0
// The sections of a sweep file, one function each (read_*.cpp): table -> structs, findings
// collected. Internal to sweeps/; what the sections must satisfy together is in
// sweeps/validate.hpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/axis_table.hpp"
#include "sweeps/sweep_spec.hpp"
#include "sweeps/table_reader.hpp"

namespace batchsweep::sweeps {

struct ReadContext {
  Findings& findings;
  bool rehearsal = false;
  std::string folder;        // full path: file names of the sweep file start here,
  std::string typed_folder;  // and those of --set here
  std::map<std::string, std::string>& file_hashes;  // full path -> hash of the content
};

// Values with their places, for findings of the cross rules.
struct PlacedAxis {
  Place place;
  std::string key;  // "grid.model"
  const AxisInfo* axis = nullptr;
  std::vector<AxisValue> values;
};
struct PlacedBlock {
  Place place;
  std::vector<PlacedAxis> axes;  // in the fixed order of axes
};
struct Placed {  // a name that must be known elsewhere
  Place place;
  std::string key, text;
};
struct PlacedMatches {
  Place place;
  std::string key;
  std::vector<AxisMatch> lines;
};

// axis_reader.cpp: a scalar, a list, or a range { from, to, factor | step } -> texts.
[[nodiscard]] std::vector<AxisValue> read_axis_values(const AxisInfo& axis, const TomlNode& node,
                                                      const std::string& key, ReadContext& context);
[[nodiscard]] std::optional<AxisValue> read_axis_value(const AxisInfo& axis, const TomlNode& node,
                                                       const std::string& key,
                                                       ReadContext& context);
// The lines of one [[exclude]], `when` or `only`.
[[nodiscard]] PlacedMatches read_matches(TableReader table, ReadContext& context);

// data_source.cpp: the full path of a file or folder, with the content's hash noted. nullopt after a
// finding.
[[nodiscard]] std::optional<std::string> read_path(const std::string& name, bool folder,
                                                   const Place& place, const std::string& key,
                                                   ReadContext& context);
// data_source.cpp: "text:FILE" -> "text:/full/path" with the content's hash noted; built-in names
// stay. nullopt after a finding.
[[nodiscard]] std::optional<std::string> read_data_source(const std::string& text,
                                                          const Place& place,
                                                          const std::string& key,
                                                          ReadContext& context);

void read_sweep_section(TableReader table, SweepSpec& sweep);
void read_trial_section(TableReader table, SweepSpec& sweep, ReadContext& context,
                        std::vector<PlacedAxis>& placed);
[[nodiscard]] PlacedBlock read_grid_block(TableReader table, ReadContext& context);
void read_models(TableReader table, SweepSpec& sweep, ReadContext& context,
                 std::vector<PlacedAxis>& placed);
[[nodiscard]] std::vector<std::pair<Place, DeclaredDevice>> read_devices(TableReader& document,
                                                                         ReadContext& context);
// The message about a card that the catalogue does not know.
[[nodiscard]] std::string unknown_card(const std::string& name);
[[nodiscard]] std::vector<Runtime> read_runtimes(TableReader& document,
                                                 std::vector<Placed>& gpu_names);
[[nodiscard]] std::vector<SlurmJob> read_slurm(TableReader& document, ReadContext& context);
// Nothing acts on prices yet: in a sweep file they are refused by name. In a site file they describe
// the machine and wait.
enum class MachineIn { kSweepFile, kSiteFile };
void read_prices(TableReader& document, MachineIn file, ReadContext& context);
void read_cluster(TableReader& document, SweepSpec& sweep, ReadContext& context);
[[nodiscard]] Rehearsal read_rehearsal(TableReader table, ReadContext& context,
                                       std::vector<Placed>& device_names,
                                       std::vector<PlacedMatches>& placed);

}  // namespace batchsweep::sweeps

// SPDX-License-Identifier: Apache-2.0
#include "results/store/schema.hpp"

#include "results/store/column_table.hpp"

namespace batchsweep::results {
namespace {

const Field<StepRow> kStepFields[] = {
    {"rank", "", "Rank within the trial.", &StepRow::rank},
    {"step", "", "Optimizer step, counted from 1, warm-up first.", &StepRow::step},
    {"warmup", "", "True for the steps before the timed window.", &StepRow::warmup},
    {"time_s", "s",
     "Time of the step, by device events on a GPU and the steady clock on a CPU; unknown where it "
     "was not timed.",
     &StepRow::time_s},
    {"loss", "", "Loss of the step on this rank.", &StepRow::loss},
};
const Field<RunRow> kRunFields[] = {
    {"run_id", "",
     "Names the run: new with a new results file and with --rerun. The last row is the newest run.",
     &RunRow::run_id},
    {"site", "", "Name of the site as the site file gives it; empty where there is none.",
     &RunRow::site},
    {"created_utc", "", "When the run was begun, UTC, ISO 8601.", &RunRow::created_utc},
    {"batchsweep_version", "", "Version of batchsweep that last worked on the run.",
     &RunRow::batchsweep_version},
    {"sweep_text_row", "", "Row of /text with the sweep file that the run was last started with.",
     &RunRow::sweep_text_row},
    {"site_text_row", "",
     "Row of /text with the site file; 0 (the empty text) where there is none.",
     &RunRow::site_text_row},
    {"inputs_text_row", "",
     "Row of /text with what the texts leave out (JSON): --set, where file names start, hashes of "
     "the files named.",
     &RunRow::inputs_text_row},
    {"rerun", "",
     "What the run asks again of what older runs recorded: all, failed, or a filter as of --only; "
     "empty for a first run, before which nothing counts.",
     &RunRow::rerun},
};
const Field<SearchRow> kSearchFields[] = {
    {"run_id", "", "Run that the search belongs to.", &SearchRow::run_id},
    {"search_id", "", "16 hex digits that name the search point.", &SearchRow::search_id},
    {"gpu", "", "Device type that was searched.", &SearchRow::gpu},
    {"model", "", "Model that was searched.", &SearchRow::model},
    {"precision", "", "Precision that was searched.", &SearchRow::precision},
    {"world_size", "", "Data-parallel ranks of each probe.", &SearchRow::world_size},
    {"sequence_length", "", "Tokens per sample of each probe; unknown for models of images.",
     &SearchRow::sequence_length},
    {"image_height", "",
     "Height of the input images of each probe; unknown for models of language.",
     &SearchRow::image_height},
    {"image_width", "", "Width of the input images of each probe; unknown for models of language.",
     &SearchRow::image_width},
    {"max_batch_fit", "", "Largest batch size that completed in its own process.",
     &SearchRow::max_batch_fit},
    {"min_batch_oom", "",
     "Smallest batch size that ran out of memory; unknown: the limit was not reached.",
     &SearchRow::min_batch_oom},
    {"exact", "", "True where those two are neighbours among the sizes that were asked for.",
     &SearchRow::exact},
    {"verdict", "",
     "What the search found, in a word: found, limit_not_reached, nothing_fits or unfinished.",
     &SearchRow::verdict},
    {"probe_trial_ids", "",
     "The trials that were run as probes, separated by spaces, in their order.",
     &SearchRow::probe_trial_ids},
};
const Field<FieldRow> kFieldFields[] = {
    {"table", "", "Table of this file.", &FieldRow::table},
    {"name", "", "Column of that table.", &FieldRow::name},
    {"unit", "", "Unit of its numbers; empty for text, counts, ratios and flags.", &FieldRow::unit},
    {"meaning", "", "What the column says.", &FieldRow::meaning},
};

constexpr TableInfo kTables[] = {
    {"trials",
     "one (run_id, trial_id, repeat): the attempt that counts, in the order of recording"},
    {"attempts",
     "an earlier attempt of a row of /trials, or a result that came after its attempt was given "
     "up"},
    {"ranks", "one rank of one attempt"},
    {"steps",
     "one step of one rank; all attempts behind each other, steps_offset and steps_count of "
     "/trials and /attempts say where"},
    {"hosts", "one host, in one state of its hardware and limits"},
    {"software", "one set of versions and switches that trials ran under"},
    {"runs", "one run, oldest first"},
    {"searches", "one search for the largest batch"},
    {"fields", "one column of one of these tables"},
};

constexpr std::string_view kReadme =
    R"(Results of a sweep of training trials, written by batchsweep.

    import h5py, pandas as pd
    df = pd.DataFrame(h5py.File("FILE.h5")["trials"][:])
    for c in df.select_dtypes(object): df[c] = df[c].str.decode("utf-8")   # text columns are bytes in HDF5

Every table is a one-dimensional compound dataset. /fields says for each column its unit and what it means. Unknown numbers are NaN, unknown
text is empty. Bytes are bytes, times are seconds, ratios are 0 to 1. /text holds long texts: read row n as h5py.File("FILE.h5")["text"][n].
The file is replaced as a whole while a sweep runs: open it anew to see more. Beside a file FILE.h5.journal that a killed sweep left behind,
rows may be missing here: run the sweep again, never delete the journal.
)";

template <class Record>
void add_rows(std::vector<FieldRow>& rows, std::string_view table) {
  for (const Field<Record>& field : fields_of<Record>()) {
    rows.push_back({std::string(table), std::string(field.name), std::string(field.unit),
                    std::string(field.meaning)});
  }
}

template <class Record>
void add_section(std::string& page, std::string_view heading, std::string_view intro) {
  page += "\n## " + std::string(heading) + "\n\n" + std::string(intro) +
          "\n\n| column | type | unit | meaning |\n|---|---|---|---|\n";
  for (const Field<Record>& field : fields_of<Record>()) {
    const char* type = "";
    switch (kind_of(field)) {
      case ColumnKind::kText:
        type = "text";
        break;
      case ColumnKind::kInteger:
        type = "int64";
        break;
      case ColumnKind::kNumber:
        type = "float64";
        break;
      case ColumnKind::kFlag:
        type = "bool";
        break;
    }
    page += "| `" + std::string(field.name) + "` | " + type + " | " + std::string(field.unit) +
            " | " + std::string(field.meaning) + " |\n";
  }
}

std::string row_of(std::string_view table) {
  for (const TableInfo& info : kTables) {
    if (info.name == table) return "A row is " + std::string(info.row) + ".";
  }
  return "";
}

constexpr std::string_view kPageHead =
    R"(# The results file

Made from the table of columns in `results/record/` and `results/store/schema.cpp`; a test compares. After a change run
`BATCHSWEEP_REWRITE=1 build/bin/unit_store --gtest_filter='FormatPage.*'`.

One sweep writes one HDF5 file, `NAME.h5`, that any HDF5 reader opens:

```python
import h5py, pandas as pd
df = pd.DataFrame(h5py.File("cards.h5")["trials"][:])
for c in df.select_dtypes(object): df[c] = df[c].str.decode("utf-8")   # text columns are bytes in HDF5
```

- Every table is a one-dimensional compound dataset, in chunks of at most 1 MiB with the filters shuffle and gzip 1.
- `float64` columns are numbers that can be unknown: NaN. `text` is fixed-length UTF-8, as wide as its longest value in this file, padded with NUL; unknown
  is empty; what is longer than 4,000 bytes is cut and ends in `...`. `bool` is the int8 enumeration FALSE, TRUE that h5py writes. Match columns by name: a newer version may
  add some, and one that is absent means unknown.
- `/text` is a list of long texts (variable-length UTF-8): sweep files, logs. Row 0 is the empty text. `/README` is one text that says how to read the file.
- Attributes of the file: `schema_version` (changes only when a column changes its meaning), `file_id` (the journal carries the same), `origin`, `sweep_name`; and for the next
  snapshot `journal_first_sequence`, `ranks_before_journal`, `steps_before_journal`: how many rows stood in the file when the present journal was begun.
- A row of `/trials` is named by (`run_id`, `trial_id`, `repeat`). Which attempt is that row: the newest that is final; where none is, the newest. A result that arrives after its
  attempt was recorded as lost stands in `/attempts` only. A row `skipped` with reason `device_absent` or `device_not_clean` gives way as soon as the trial runs.
- Which row counts where the file has several runs: that of the newest run that has one for (`trial_id`, `repeat`), unless a still newer run asks the trial again (`/runs`, column
  `rerun`). All rows stay in the file; `run`, `plan` and `report` look at those that count.
- An attempt that was started and whose end nobody recorded (the orchestrator was killed) is a row of `/attempts` with outcome `interrupted`, reason `orchestrator_died` and
  nothing measured.

## Files beside it

| file | what it is |
|---|---|
| `NAME.h5.journal` | The truth while a sweep runs: append-only lines `LENGTH CRC32 JSON`, made durable before a trial counts as recorded. Removed at a clean end. Left behind by a killed sweep it holds rows that the `.h5` lacks: run again, never delete it. |
| `NAME.h5.lock` | Host, boot, process and Slurm job of the running sweep, and a counter that it bumps every 5 seconds. |
| `NAME.h5.tmp` | The next snapshot while it is written; it replaces `NAME.h5` by rename when it is whole and durable. |
| `NAME.h5.status.json` | What runs at the moment, told by whom and when; replaced every second. |
| `NAME.h5.cancel` | A request to end the sweep well; the sweep takes it away. |
| `NAME.h5.slurm` | The ids of the Slurm jobs that shall work on the file, one a line, until all is recorded. `batchsweep cancel` takes it away, and then no job asks Slurm for another start. |

What is recorded is the union of `.h5` and journal. The journal begins with a frame that carries the file id; frames of kind `run` (a run begins or goes on: its texts), `started` and `attempt`
follow. Each frame says how many bytes of the journal were durable when it was written, so a tail torn by a crash (dropped: nobody was promised it) can be told from damage to what was recorded
(refused, with its offset).

Behind the end of the HDF5 data stand 64 bytes with its length and CRC-32, which HDF5 readers do not look at. A file whose content does not match them is refused as damaged; a program that
opens the file for writing drops them, and then HDF5's own checks are all there is.
)";

}  // namespace

template <>
std::span<const Field<StepRow>> fields_of<StepRow>() {
  return kStepFields;
}
template <>
std::span<const Field<RunRow>> fields_of<RunRow>() {
  return kRunFields;
}
template <>
std::span<const Field<SearchRow>> fields_of<SearchRow>() {
  return kSearchFields;
}
template <>
std::span<const Field<FieldRow>> fields_of<FieldRow>() {
  return kFieldFields;
}

std::span<const TableInfo> tables() { return kTables; }
std::string_view readme() { return kReadme; }

std::vector<FieldRow> field_rows() {
  std::vector<FieldRow> rows;
  add_rows<TrialRecord>(rows, "trials");
  add_rows<TrialRecord>(rows, "attempts");
  add_rows<RankRecord>(rows, "ranks");
  add_rows<StepRow>(rows, "steps");
  add_rows<HostRecord>(rows, "hosts");
  add_rows<SoftwareRecord>(rows, "software");
  add_rows<RunRow>(rows, "runs");
  add_rows<SearchRow>(rows, "searches");
  add_rows<FieldRow>(rows, "fields");
  return rows;
}

std::string format_page() {
  std::string page(kPageHead);
  add_section<TrialRecord>(
      page, "`/trials` and `/attempts`",
      row_of("trials") + " `/attempts` has the same columns: " + row_of("attempts"));
  add_section<RankRecord>(page, "`/ranks`", row_of("ranks"));
  add_section<StepRow>(page, "`/steps`", row_of("steps"));
  add_section<HostRecord>(page, "`/hosts`", row_of("hosts"));
  add_section<SoftwareRecord>(page, "`/software`", row_of("software"));
  add_section<RunRow>(page, "`/runs`", row_of("runs"));
  add_section<SearchRow>(page, "`/searches`", row_of("searches"));
  add_section<FieldRow>(page, "`/fields`", row_of("fields"));
  return page;
}

}  // namespace batchsweep::results

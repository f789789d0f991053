// SPDX-License-Identifier: Apache-2.0
// Reads JSON text from front to back without building a tree: the journal of a long sweep is
// hundreds of megabytes. The caller asks for what stands next; anything else throws. Knows nothing
// of records.
#pragma once

#include <string>
#include <string_view>

namespace batchsweep::results {

class JsonCursor {
 public:
  // `text` must outlive the cursor.
  explicit JsonCursor(std::string_view text)
      : at_(text.data()), end_(text.data() + text.size()), begin_(at_) {}

  void enter_object() { expect('{'); }
  // The next member's key (as written: our keys need no escapes); false at the object's end, which
  // is consumed.
  [[nodiscard]] bool next_member(std::string_view& key);
  void enter_array() { expect('['); }
  // True when an element stands next; false at the array's end, which is consumed.
  [[nodiscard]] bool next_element();

  void text(std::string& out);
  [[nodiscard]] std::int64_t integer();
  // null gives NaN; "inf" and "-inf" the infinities, which JSON itself cannot write.
  [[nodiscard]] double number();
  [[nodiscard]] bool flag();
  void skip();  // any value

  // The text of the value that stands next, which is skipped.
  [[nodiscard]] std::string_view raw();

 private:
  void expect(char c);
  [[nodiscard]] char peek();
  [[nodiscard]] bool take_word(std::string_view word);
  void append_escape(std::string& out);
  void skip_string();
  void skip_word();
  [[noreturn]] void fail(std::string_view wanted) const;

  const char* at_;
  const char* end_;
  const char* begin_;
};

}  // namespace batchsweep::results

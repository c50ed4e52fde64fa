// Database and Statement: the few things that the store needs of SQLite, as values.
//
// Ownership: move-only. A Statement must not outlive its Database. Text and blobs are copied when
//            they are bound.
// Errors:    one line that names the file, what is wrong with it and the way out. What was
//            committed before an error stays committed.
// Threads:   one owner.
// Source:    SQLite C interface 3.37 or later (STRICT tables).
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace blksweep {

class Statement {
 public:
  // Binds the next parameter, from the first on; unknown becomes NULL. A failure to bind (no
  // memory) is reported by the next step().
  void bind(std::nullptr_t);
  void bind(std::int64_t value);
  void bind(double value);
  void bind(std::string_view value);
  void bind_blob(std::string_view bytes);
  // Unsigned values above INT64_MAX keep their bits; nothing that blksweep counts comes near.
  template <std::integral T>
  void bind(T value) {
    bind(static_cast<std::int64_t>(value));
  }
  template <class T>
  void bind(const std::optional<T>& value) {
    value ? bind(*value) : bind(nullptr);
  }

  // true: a row is there. false: finished. Either way the statement can be reset and used again.
  Result<bool> step();
  void reset();

  // Read the next column of the row, from the first on.
  template <std::integral T>
  void read(T& out) {
    out = static_cast<T>(sqlite3_column_int64(raw_.get(), column_++));
  }
  void read(double& out) { out = sqlite3_column_double(raw_.get(), column_++); }
  void read(std::string& out);
  template <class T>
  void read(std::optional<T>& out) {
    if (sqlite3_column_type(raw_.get(), column_) == SQLITE_NULL) {
      ++column_;
      out.reset();
    } else {
      read(out.emplace());
    }
  }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> raw_;
  const std::string* name_ = nullptr;  // of the database, for errors
  int parameter_ = 0;
  int column_ = 0;
  int bind_error_ = SQLITE_OK;
};

class Database {
 public:
  enum class Mode {
    create,    // read and written; made where there is none
    existing,  // read only: nothing is made, changed or played back, but the journal of a writer of
               // ours that was killed
  };
  // The file, its journal and its folder must be of somebody whom we trust (os/file/trust.h):
  // SQLite plays a planted journal back into the database and removes the files that it names. A
  // stranger's database is refused by root; others read it as it stands, unless it is being
  // written. What a schema names (views, triggers, functions) is not trusted.
  static Result<Database> open(const std::string& path, Mode mode);
  static Result<Database> in_memory();

  // One or more statements without parameters or rows.
  Result<> exec(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  // What a reader sees now, as a file of its own at `path`, made or emptied before.
  Result<> copy_to(const std::string& path);
  // How long a statement waits for another process before it fails.
  void set_busy_timeout(std::chrono::milliseconds patience) {
    sqlite3_busy_timeout(raw_.get(), static_cast<int>(patience.count()));
  }
  std::int64_t last_id() const { return sqlite3_last_insert_rowid(raw_.get()); }
  bool read_only() const { return sqlite3_db_readonly(raw_.get(), "main") == 1; }
  const std::string& name() const { return *name_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  static Result<Database> connect(const std::string& name, const std::string& uri, int flags);
  Result<> restrict();
  Result<> check_pages();

  std::unique_ptr<sqlite3, Close> raw_;
  std::unique_ptr<const std::string> name_;  // at a stable address: statements refer to it
};

// Begins a write transaction; rolls back unless commit() was reached. Waits for other writers at
// the beginning, so that a commit does not fail for their sake half-way.
class Transaction {
 public:
  static Result<Transaction> begin(Database& db);
  Result<> commit();
  Transaction(Transaction&& o) noexcept : db_(std::exchange(o.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

 private:
  explicit Transaction(Database& db) : db_(&db) {}
  Database* db_;
};

}  // namespace blksweep

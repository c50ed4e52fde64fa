#include "store/database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "store/database_file.h"

namespace blksweep {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr int kLongestValue = 256 << 20;  // bytes; a record that says more is no record of ours

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash + 1);
}

tl::unexpected<Error> store_error(const std::string& name, sqlite3* db, int code) {
  const int system = db != nullptr ? sqlite3_system_errno(db) : 0;
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return fail(name + " is not a blksweep database: name a new file");
    case SQLITE_CORRUPT:
      return fail(name + " is damaged: save what is left with 'sqlite3 " + name +
                  " .recover' and name a new file");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(name + " is locked by another process: wait or use another --db");
    case SQLITE_FULL:
      return tl::unexpected(
          Error{name + ": disk full; finished runs are kept: free space and start again", ENOSPC});
    case SQLITE_READONLY:
      return fail(name + " is read-only: make it writable or use another --db");
    case SQLITE_CANTOPEN: {
      const int why = ::access(folder_of(name).c_str(), W_OK) != 0 ? errno : system;
      return fail(fmt::format("{}: cannot be opened{}{}: check the directory or name another file",
                              name, why != 0 ? ": " : "", why != 0 ? std::strerror(why) : ""));
    }
    default:
      return fail(fmt::format("{}: {}{}{}", name,
                              db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code),
                              system != 0 ? ": " : "", system != 0 ? std::strerror(system) : ""));
  }
}

}  // namespace

void Statement::bind(std::nullptr_t) { bind_error_ |= sqlite3_bind_null(raw_.get(), ++parameter_); }
void Statement::bind(std::int64_t value) {
  bind_error_ |= sqlite3_bind_int64(raw_.get(), ++parameter_, value);
}
void Statement::bind(double value) {
  bind_error_ |= sqlite3_bind_double(raw_.get(), ++parameter_, value);
}
void Statement::bind(std::string_view value) {
  bind_error_ |= sqlite3_bind_text64(raw_.get(), ++parameter_, value.empty() ? "" : value.data(),
                                     value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
void Statement::bind_blob(std::string_view bytes) {
  bind_error_ |= sqlite3_bind_blob64(raw_.get(), ++parameter_, bytes.empty() ? "" : bytes.data(),
                                     bytes.size(), SQLITE_TRANSIENT);
}

Result<bool> Statement::step() {
  const int code = bind_error_ != SQLITE_OK ? bind_error_ : sqlite3_step(raw_.get());
  column_ = 0;
  if (code == SQLITE_ROW || code == SQLITE_DONE) {
    return code == SQLITE_ROW;
  }
  auto error = store_error(*name_, sqlite3_db_handle(raw_.get()), code);
  reset();
  return error;
}

void Statement::reset() {
  sqlite3_reset(raw_.get());
  parameter_ = 0;
  column_ = 0;
  bind_error_ = SQLITE_OK;
}

void Statement::read(std::string& out) {
  const auto* text = sqlite3_column_blob(raw_.get(), column_);
  const int bytes = sqlite3_column_bytes(raw_.get(), column_);
  ++column_;
  out.assign(text != nullptr ? static_cast<const char*>(text) : "",
             text != nullptr ? static_cast<std::size_t>(bytes) : 0);
}

Result<Database> Database::connect(const std::string& name, const std::string& uri, int flags) {
  Database db;
  db.name_ = std::make_unique<const std::string>(name);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, flags | SQLITE_OPEN_URI, nullptr);
  db.raw_.reset(raw);
  if (code != SQLITE_OK) {
    return store_error(name, raw, code);
  }
  BLKSWEEP_CHECK(db.restrict());
  return db;
}

Result<> Database::restrict() {
  sqlite3* raw = raw_.get();
  sqlite3_extended_result_codes(raw, 1);
  set_busy_timeout(kPatience);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kLongestValue);
  for (const int option : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                           SQLITE_DBCONFIG_TRUSTED_SCHEMA}) {
    sqlite3_db_config(raw, option, 0, nullptr);
  }
  return sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr) == SQLITE_OK
             ? Result<>{}
             : fail(name() + ": this SQLite cannot be made defensive: 3.37 or later is needed");
}

Result<Database> Database::in_memory() {
  return connect(":memory:", "file::memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  BLKSWEEP_TRY(const DatabaseFile file, DatabaseFile::look(path, mode == Mode::create));
  if (mode == Mode::create) {
    BLKSWEEP_TRY(Database db,
                 connect(path, file.uri(""), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    BLKSWEEP_CHECK(db.check_pages());
    return db;
  }
  const std::string options = file.trusted() ? "mode=ro" : "mode=ro&immutable=1";
  BLKSWEEP_TRY(Database db, connect(path, file.uri(options), SQLITE_OPEN_READONLY));
  const int code =
      sqlite3_exec(db.raw_.get(), "SELECT 1 FROM sqlite_master LIMIT 1", nullptr, nullptr, nullptr);
  if (code != SQLITE_READONLY_ROLLBACK && code != SQLITE_READONLY_CANTINIT) {
    BLKSWEEP_CHECK(db.check_pages());  // another error comes again with it
    return db;
  }
  // A writer of ours was killed: its last transaction is taken back first.
  BLKSWEEP_CHECK(DatabaseFile::look(path, /*to_write=*/true));
  BLKSWEEP_TRY(Database writer, connect(path, file.uri(""), SQLITE_OPEN_READWRITE));
  BLKSWEEP_CHECK(writer.check_pages());
  return connect(path, file.uri(options), SQLITE_OPEN_READONLY);
}

// Pages that stand in a tree many times would be rows without end, from a file of some kilobytes.
Result<> Database::check_pages() {
  BLKSWEEP_TRY(Statement check, prepare("PRAGMA quick_check(1)"));
  BLKSWEEP_TRY(const bool row, check.step());
  std::string found;
  if (row) {
    check.read(found);
  }
  return found == "ok" ? Result<>() : Result<>(store_error(*name_, raw_.get(), SQLITE_CORRUPT));
}

Result<> Database::exec(const std::string& sql) {
  const int code = sqlite3_exec(raw_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    return store_error(*name_, raw_.get(), code);
  }
  return {};
}

Result<> Database::copy_to(const std::string& path) {
  BLKSWEEP_TRY(const Database copy,
               connect(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  sqlite3_backup* pages = sqlite3_backup_init(copy.raw_.get(), "main", raw_.get(), "main");
  if (pages == nullptr) {
    return store_error(path, copy.raw_.get(), sqlite3_errcode(copy.raw_.get()));
  }
  sqlite3_backup_step(pages, -1);  // all at one go: what is written meanwhile waits
  const int code = sqlite3_backup_finish(pages);
  return code == SQLITE_OK ? Result<>() : Result<>(store_error(path, copy.raw_.get(), code));
}

Result<Statement> Database::prepare(const std::string& sql) {
  Statement statement;
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(raw_.get(), sql.c_str(), -1, &raw, nullptr);
  statement.raw_.reset(raw);
  statement.name_ = name_.get();
  if (code != SQLITE_OK) {
    return store_error(*name_, raw_.get(), code);
  }
  return statement;
}

Result<Transaction> Transaction::begin(Database& db) {
  BLKSWEEP_CHECK(db.exec("BEGIN IMMEDIATE"));
  return Transaction(db);
}

Result<> Transaction::commit() {
  BLKSWEEP_CHECK(db_->exec("COMMIT"));
  db_ = nullptr;
  return {};
}

Transaction::~Transaction() {
  if (db_ != nullptr) {
    // SQLite has already rolled back after some errors; a second rollback then says so.
    [[maybe_unused]] const auto already_rolled_back = db_->exec("ROLLBACK");
  }
}

}  // namespace blksweep

journal_test.o: tests/unit/journal_test.cpp src/node/journal/journal.h \
 src/base/result.h src/node/journal/loan.h src/os/process_id.h \
 src/base/units.h src/base/json.h src/base/rng.h src/node/journal/undo.h \
 tests/support/temp_dir.h
src/node/journal/journal.h:
src/base/result.h:
src/node/journal/loan.h:
src/os/process_id.h:
src/base/units.h:
src/base/json.h:
src/base/rng.h:
src/node/journal/undo.h:
tests/support/temp_dir.h:

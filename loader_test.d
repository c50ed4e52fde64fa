loader_test.o: tests/unit/loader_test.cpp src/loader/loader.h \
 tests/support/temp_dir.h
src/loader/loader.h:
tests/support/temp_dir.h:

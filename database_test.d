database_test.o: tests/unit/database_test.cpp src/store/database.h \
 src/base/result.h
src/store/database.h:
src/base/result.h:

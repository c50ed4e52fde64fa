trace_lanes_test.o: tests/unit/trace_lanes_test.cpp src/base/json.h \
 src/store/trace_events.h src/store/batch_lanes.h src/store/records.h \
 src/base/batch_times.h src/base/device_span.h src/model/latency_map.h \
 src/base/units.h src/base/result.h src/store/account_records.h \
 src/store/maybe.h src/store/cache_records.h src/store/request_records.h \
 src/base/request_origin.h tests/support/demo_records.h
src/base/json.h:
src/store/trace_events.h:
src/store/batch_lanes.h:
src/store/records.h:
src/base/batch_times.h:
src/base/device_span.h:
src/model/latency_map.h:
src/base/units.h:
src/base/result.h:
src/store/account_records.h:
src/store/maybe.h:
src/store/cache_records.h:
src/store/request_records.h:
src/base/request_origin.h:
tests/support/demo_records.h:

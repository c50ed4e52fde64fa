gpu_words_test.o: tests/unit/gpu_words_test.cpp \
 src/stage/cuda/gpu_words.h src/base/units.h src/base/result.h \
 src/base/rng.h src/stage/cuda/gemm_plan.h src/stage/cuda/nvml.h \
 src/stage/cuda/pieces.h
src/stage/cuda/gpu_words.h:
src/base/units.h:
src/base/result.h:
src/base/rng.h:
src/stage/cuda/gemm_plan.h:
src/stage/cuda/nvml.h:
src/stage/cuda/pieces.h:

/* Vectors of GCC's extension, which clang supports as well: AVX2 with FMA on x86-64, NEON on 64-bit
 * ARM. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR_BYTES 32
#elif defined(__aarch64__)
#define TARGET
#define VECTOR_BYTES 16
#else
#error "no vectorized implementation for this processor"
#endif

#define PUBLIC __attribute__((visibility("default")))
#define VECTOR_OF(type)                                                                           \
    type __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(type)), may_alias))
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))

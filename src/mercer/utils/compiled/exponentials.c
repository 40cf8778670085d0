/* Exponentials of arrays. NumPy vectorizes those of doubles with AVX-512 only; with AVX2 its loop
 * takes 4 to 6 times as long as this one, and that of floats 2 to 4 times. The vectors are GCC's
 * extension, which clang supports as well: AVX2 with FMA on x86-64, NEON on 64-bit ARM.
 */
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

#define CHUNK 8 /* vectors whose range is checked together */

/* Return whether this CPU has the instructions, and NumPy has no faster loop for it. */
PUBLIC int mercer_is_useful(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
           && !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"));
#else
    return 1;
#endif
}

/* exp(x) = 2^k exp(r), |r| ≤ ln(2)/2, and exp(r) = 1 + r + r² q(r) with a Chebyshev approximation q,
 * whose coefficients follow. The relative error before rounding is 2e-17 for doubles and 1e-8 for
 * floats. exp(0) = 1 is exact. */

#define NAME(f) f##_double
#define REAL double
#define INTEGER int64_t
#define SCALAR_EXP exp
#define LARGEST 708.0 /* for larger |x|, 2^k may not be a normal number */
#define ZERO_BELOW -746.0
#define SHIFT 0x1.8p52 /* SHIFT + k has the bits of k at the end of its mantissa */
#define MANTISSA_BITS 52
#define LOG2_E 0x1.71547652b82fep+0
#define LN2_HIGH 0x1.62e42feep-1 /* k LN2_HIGH is exact */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define COEFFICIENTS                                                                              \
    {0.5, 0.16666666666666669, 0.041666666666624136, 0.008333333333330063,                        \
     0.001388888891720967, 0.00019841269863050506, 2.4801521302241082e-05,                        \
     2.7557268464831627e-06, 2.7620085455018414e-07, 2.510038319586702e-08}
#define DEGREE 9
#include "exponentials.h"

#define NAME(f) f##_float
#define REAL float
#define INTEGER int32_t
#define SCALAR_EXP expf
#define LARGEST 87.0f
#define ZERO_BELOW -104.0f
#define SHIFT 0x1.8p23f
#define MANTISSA_BITS 23
#define LOG2_E 0x1.715476p+0f
#define LN2_HIGH 0x1.62e4p-1f
#define LN2_LOW 0x1.7f7d1cp-20f
#define COEFFICIENTS {0.5f, 0.16666577f, 0.041666555f, 0.0083631776f, 0.0013926182f}
#define DEGREE 4
#include "exponentials.h"

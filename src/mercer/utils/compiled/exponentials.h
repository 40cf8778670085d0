/* Exponentials of one floating type; exponentials.c includes this file once per type. */

typedef VECTOR_OF(REAL) NAME(vector);
typedef VECTOR_OF(INTEGER) NAME(integers);

#define VECTOR NAME(vector)
#define INTEGERS NAME(integers)

/* For |x| ≤ LARGEST. */
TARGET static inline VECTOR NAME(vector_exp)(VECTOR x)
{
    static const REAL coefficients[] = COEFFICIENTS;
    VECTOR shifted = x * (REAL)LOG2_E + (REAL)SHIFT;
    VECTOR k = shifted - (REAL)SHIFT;
    VECTOR r = x - k * (REAL)LN2_HIGH;
    r = r - k * (REAL)LN2_LOW;
    VECTOR q = r * coefficients[DEGREE] + coefficients[DEGREE - 1];
    for (int i = DEGREE - 2; i >= 0; i--)
        q = q * r + coefficients[i];
    VECTOR p = (q * r) * r + r + (REAL)1;
    return (VECTOR)((INTEGERS)p + ((INTEGERS)shifted << MANTISSA_BITS)); /* p 2^k */
}

/* Replace each of n numbers, some of which may be infinite, NaN or out of range. */
static void NAME(scalar_exp)(REAL *x, ptrdiff_t n, REAL upper)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL clipped = x[i] > upper ? upper : x[i];
        x[i] = clipped < (REAL)ZERO_BELOW ? 0 : SCALAR_EXP(clipped);
    }
}

/* Replace the numbers of a chunk. */
TARGET static inline void NAME(chunk_exp)(REAL *x, REAL upper)
{
    VECTOR *vectors = (VECTOR *)x, limit = upper - (VECTOR){0};
    INTEGERS inside = vectors[0] == vectors[0]; /* comparisons with NaN are false */
    for (int i = 0; i < CHUNK; i++)
        inside &= (vectors[i] <= (REAL)LARGEST) & (vectors[i] >= -(REAL)LARGEST);
    INTEGER all_inside = -1;
    for (int i = 0; i < LANES; i++)
        all_inside &= inside[i];
    if (!all_inside) {
        NAME(scalar_exp)(x, CHUNK * LANES, upper);
        return;
    }
    for (int i = 0; i < CHUNK; i++) {
        INTEGERS above = vectors[i] > limit, bits = (INTEGERS)vectors[i];
        vectors[i] = NAME(vector_exp)((VECTOR)(((INTEGERS)limit & above) | (bits & ~above)));
    }
}

TARGET static void NAME(row_exp)(REAL *x, ptrdiff_t n, REAL upper)
{
    ptrdiff_t done = 0;
    for (; done + CHUNK * LANES <= n; done += CHUNK * LANES)
        NAME(chunk_exp)(x + done, upper);
    if (done == n)
        return;
    REAL rest[CHUNK * VECTOR_BYTES / sizeof(REAL)] = {0};
    memcpy(rest, x + done, (n - done) * sizeof(REAL));
    NAME(chunk_exp)(rest, upper);
    memcpy(x + done, rest, (n - done) * sizeof(REAL));
}

/* Replace the entries x of a row-major matrix by exp(min(x, upper)); its rows begin ``stride``
 * numbers apart. */
PUBLIC void NAME(mercer_exp)(REAL *x, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t stride,
                             double upper)
{
    if (stride == columns) {
        columns *= rows;
        rows = 1;
    }
    for (ptrdiff_t i = 0; i < rows; i++)
        NAME(row_exp)(x + i * stride, columns, (REAL)upper);
}

#undef VECTOR
#undef INTEGERS
#undef NAME
#undef REAL
#undef INTEGER
#undef SCALAR_EXP
#undef LARGEST
#undef ZERO_BELOW
#undef SHIFT
#undef MANTISSA_BITS
#undef LOG2_E
#undef LN2_HIGH
#undef LN2_LOW
#undef COEFFICIENTS
#undef DEGREE

/* Products of one floating type; products.c includes this file once per type. */

typedef VECTOR_OF(REAL) NAME(block);

/* out_i += Σ_k A_ik V_k for i < rows ≤ ROWS and ``width`` ≤ 2 vectors of columns. */
TARGET static inline __attribute__((always_inline)) void NAME(add_rows)(
    const REAL *A, ptrdiff_t row_step, ptrdiff_t term_step, ptrdiff_t terms, const REAL *V,
    double *out, ptrdiff_t columns, const int rows, const int width)
{
    NAME(block) sums[ROWS][2];
    memset(sums, 0, sizeof sums);
    for (ptrdiff_t k = 0; k < terms; k++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < width; j++)
                sums[i][j] += *(const NAME(block) *)(V + k * columns + j * LANES)
                              * A[i * row_step + k * term_step];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < width; j++)
            ADD(out + i * columns + j * LANES, sums[i][j]);
}

/* The same for all columns; their number is a multiple of LANES. */
TARGET static inline __attribute__((always_inline)) void NAME(add_columns)(
    const REAL *A, ptrdiff_t row_step, ptrdiff_t term_step, ptrdiff_t terms, const REAL *V,
    double *out, ptrdiff_t columns, const int rows)
{
    ptrdiff_t j = 0;
    for (; j + 2 * LANES <= columns; j += 2 * LANES)
        NAME(add_rows)(A, row_step, term_step, terms, V + j, out + j, columns, rows, 2);
    for (; j < columns; j += LANES)
        NAME(add_rows)(A, row_step, term_step, terms, V + j, out + j, columns, rows, 1);
}

/* out += A V for a tile A, or its transpose: one of the steps is 1. */
TARGET static inline __attribute__((always_inline)) void NAME(add_tile)(
    const REAL *A, ptrdiff_t row_step, ptrdiff_t term_step, ptrdiff_t rows, ptrdiff_t terms,
    const REAL *V, double *out, ptrdiff_t columns)
{
    ptrdiff_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        NAME(add_columns)(A + i * row_step, row_step, term_step, terms, V, out + i * columns,
                          columns, ROWS);
    for (; i < rows; i++)
        NAME(add_columns)(A + i * row_step, row_step, term_step, terms, V, out + i * columns,
                          columns, 1);
}

/* Add A V to ``above``, and A'W to ``below`` unless W is NULL.
 *
 * A is a row-major matrix of rows × terms, whose rows begin ``stride`` numbers apart. V and below
 * have ``terms`` rows, W and above have ``rows``; their ``columns``, a multiple of 8, are contiguous.
 * Sums over a tile are in the precision of A, all others in double precision.
 */
TARGET PUBLIC void NAME(mercer_add_products)(const REAL *A, ptrdiff_t stride, ptrdiff_t rows,
                                             ptrdiff_t terms, const REAL *V, const REAL *W,
                                             double *above, double *below, ptrdiff_t columns)
{
    for (ptrdiff_t j = 0; j < terms; j += TILE) {
        ptrdiff_t width = terms - j < TILE ? terms - j : TILE;
        for (ptrdiff_t i = 0; i < rows; i += TILE) {
            ptrdiff_t height = rows - i < TILE ? rows - i : TILE;
            const REAL *tile = A + i * stride + j;
            NAME(add_tile)(tile, stride, 1, height, width, V + j * columns, above + i * columns,
                           columns);
            if (W)
                NAME(add_tile)(tile, 1, stride, width, height, W + i * columns,
                               below + j * columns, columns);
        }
    }
}

#undef NAME
#undef REAL
#undef ADD

/* Products of a stored symmetric matrix of doubles with narrow blocks. BLAS copies the matrix into
 * buffers first, which takes as long as the product with 16 columns; here a tile is multiplied on
 * both sides from the cache. (A version for floats was not faster than BLAS.)
 */
#include "vectors.h"

#define REAL double
#define ROWS 6                 /* whose sums are in registers */
#define VECTORS 2              /* of columns, for each of these rows */
#define WIDTH (VECTORS *LANES) /* columns; 8 is a multiple of it */
#define TILE 126               /* a multiple of ROWS; a tile takes a quarter of a 512 kB cache */

typedef VECTOR_OF(double) vector;

/* out_i += Σ_k A_ik V_k for i < rows ≤ ROWS and all columns. */
TARGET static inline __attribute__((always_inline)) void add_rows(
    const double *A, ptrdiff_t row_step, ptrdiff_t term_step, ptrdiff_t terms, const double *V,
    double *out, ptrdiff_t columns, const int rows)
{
    for (ptrdiff_t c = 0; c < columns; c += WIDTH) {
        vector sums[ROWS][VECTORS];
        memset(sums, 0, sizeof sums);
        for (ptrdiff_t k = 0; k < terms; k++)
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < VECTORS; j++)
                    sums[i][j] += *(const vector *)(V + k * columns + c + j * LANES)
                                  * A[i * row_step + k * term_step];
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < VECTORS; j++)
                *(vector *)(out + i * columns + c + j * LANES) += sums[i][j];
    }
}

/* out += A V for a tile A, or its transpose: one of the steps is 1. */
TARGET static inline __attribute__((always_inline)) void add_tile(
    const double *A, ptrdiff_t row_step, ptrdiff_t term_step, ptrdiff_t rows, ptrdiff_t terms,
    const double *V, double *out, ptrdiff_t columns)
{
    ptrdiff_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        add_rows(A + i * row_step, row_step, term_step, terms, V, out + i * columns, columns, ROWS);
    for (; i < rows; i++)
        add_rows(A + i * row_step, row_step, term_step, terms, V, out + i * columns, columns, 1);
}

/* Add A V to ``above``, and A'W to ``below`` unless W is NULL.
 *
 * A is a row-major matrix of rows × terms, whose rows begin ``stride`` numbers apart. V and below
 * have ``terms`` rows, W and above have ``rows``; their ``columns``, a multiple of 8, are contiguous.
 */
TARGET PUBLIC void mercer_add_products(const double *A, ptrdiff_t stride, ptrdiff_t rows,
                                       ptrdiff_t terms, const double *V, const double *W,
                                       double *above, double *below, ptrdiff_t columns)
{
    for (ptrdiff_t j = 0; j < terms; j += TILE) {
        ptrdiff_t width = terms - j < TILE ? terms - j : TILE;
        for (ptrdiff_t i = 0; i < rows; i += TILE) {
            ptrdiff_t height = rows - i < TILE ? rows - i : TILE;
            const double *tile = A + i * stride + j;
            add_tile(tile, stride, 1, height, width, V + j * columns, above + i * columns, columns);
            if (W)
                add_tile(tile, 1, stride, width, height, W + i * columns, below + j * columns,
                         columns);
        }
    }
}

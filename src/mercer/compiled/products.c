/* Products of a stored symmetric matrix with narrow blocks. BLAS copies the matrix into buffers
 * first, which takes as long as the product with 16 columns; here a tile is multiplied on both sides
 * from the cache.
 */
#include "vectors.h"

#define ROWS 6      /* and 2 vectors of columns: 12 sums in registers */
#define TILE 126    /* a multiple of ROWS; a tile of doubles takes a quarter of a 512 kB cache */

#define NAME(f) f##_double
#define REAL double
#define ADD(out, sums) *(NAME(block) *)(out) += (sums)
#include "products.h"

#define NAME(f) f##_float
#define REAL float
#define ADD(out, sums)                                                                            \
    for (int lane = 0; lane < LANES; lane++)                                                      \
    (out)[lane] += (sums)[lane]
#include "products.h"

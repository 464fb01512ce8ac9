// Fits of HistFactory models, one row (data set, toy or set of yields) to a block of threads.
//
// A block runs its row's whole Newton iteration; the host waits for nothing in between. No sum uses an atomic
// operation, so results do not depend on the order in which threads run. A step solves the expected information in
// the space of the bins, (diag(ν) + J D⁻¹ Jᵀ), with a border for parameters that no measurement constrains; steps with
// a held factor learn from the changes of the gradient (BFGS). A row that this does not bring to a minimum has a
// status and is left to the CPU.
//
// The file is C, too: with `HOST` it is compiled for the processor, where a block is one thread, for the tests.

#ifdef HOST
#include <math.h>
#define KERNEL void
#define ARGUMENT const
#define FUNCTION static
#define THREAD 0
#define THREADS 1
#define LANE 0
#define LANES 1
#define WARP 0
#define WARPS 1
#define SYNC
#define SYNC_WARP
static int BLOCK, GRID;
static double *shared_memory;
typedef unsigned int u32;
typedef unsigned long long u64;
static double warp_sum(double x) { return x; }
static double warp_largest(double x) { return x; }
#else
#define KERNEL extern "C" __global__ void __launch_bounds__(512, 1)
#define ARGUMENT const __grid_constant__
#define FUNCTION static __device__ __noinline__
#define THREAD ((int)threadIdx.x)
#define THREADS ((int)blockDim.x)
#define LANE ((int)(threadIdx.x & 31))
#define LANES 32
#define WARP ((int)(threadIdx.x >> 5))
#define WARPS ((int)(blockDim.x >> 5))
#define SYNC __syncthreads()
#define SYNC_WARP __syncwarp()
#define BLOCK ((int)blockIdx.x)
#define GRID ((int)gridDim.x)
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)
#define NAN __longlong_as_double(0x7ff8000000000000LL)
typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ double warp_sum(double x) {
  for (int way = 16; way > 0; way >>= 1) x += __shfl_xor_sync(0xffffffffu, x, way);
  return x;
}

static __device__ double warp_largest(double x) {
  for (int way = 16; way > 0; way >>= 1) x = fmax(x, __shfl_xor_sync(0xffffffffu, x, way));
  return x;
}
#endif

// Loops are not unrolled unless they wait for memory: the code of a whole fit must stay in the instruction cache.
#define ROLLED _Pragma("unroll 1")
// Two numbers that are read as one.
typedef struct __attribute__((aligned(16))) { double odd, even; } Pair;

#define EACH(i, count) ROLLED for (int i = THREAD; i < (count); i += THREADS)
#define EACH_WARP(i, count) ROLLED for (int i = WARP; i < (count); i += WARPS)
#define EACH_LANE(i, begin, end) ROLLED for (int i = (begin) + LANE; i < (end); i += LANES)
#define UNROLLED _Pragma("unroll 4")
#define EACH_LANE_UNROLLED(i, begin, end) UNROLLED for (int i = (begin) + LANE; i < (end); i += LANES)
// Arrays of the plan.
#define PAIRS_OF(name) ((const Pair *)(row->reals + plan->name))
#define INTS(name) (row->ints + plan->name)
#define REALS(name) (row->reals + plan->name)

enum { PAIRS = 10 };
enum { FREE = 0, NORMAL = 1, POISSON = 2 };
enum { CONVERGED = 0, STALLED = 1, EXHAUSTED = 2, NO_START = 3, SINGULAR = 4, DOUBTFUL = 5, LED_BACK = 6 };
#define FAR 2.5
#define MOST_ABOVE 100.0
#define DIFFERENT 1e-9
// The searches for lower minima, as on the CPU.
#define LEAST_PULL 0.15
#define SHARE 0.5
#define MOST_RISE 1.0
enum { MOST_RESETS = 6, MOST_ROUNDS = 8, MOST_MIRRORED = 6, MOST_MIRRORED_FITS = 3 };
enum { TEST_Q = 0, TEST_QTILDE = 1, TEST_T = 2, TEST_Q0 = 3 };

// A compiled model. A block is a sample in a channel, a cell one of its bins. Numbers are offsets of arrays in `ints`
// and `reals`, after the first ones, which are counts. `src/plan.rs` has the same list.
typedef struct {
  const int *ints;
  const double *reals;
  // Counts and options.
  int parameters, bins, blocks, cells, auxiliary, poi, histosys_code, ints_count, reals_count;
  // Normsys factors lie in `depth` rows of `lanes` blocks, templates in `layers` rows of all cells. In a row each
  // parameter has a range of its own; where a block of that range does not depend on it, the numbers are zero.
  int lanes, depth, layers;
  // Parameters whose effects are not limited to one bin, and parameters without a constraint.
  int dense, border;
  // Structure by block and cell.
  int block_cell, block_bin, cell_block, cell_bin, bin_start, bin_cell, free_start, free_parameter, norm_owner,
      histo_owner, gamma_start, gamma_first;
  // The same by parameter: rows, and ranges of blocks and cells.
  int norm_row, norm_first, norm_end, histo_row, histo_first, histo_end, free_of_start, free_of_block, gamma_of_start,
      gamma_of_cell;
  // Constraints, bounds, columns of the Jacobian matrix.
  int kind, aux, fixed, column, dense_parameter, local_bin, local_start, local_parameter, border_parameter, border_place;
  // Widths of constraints that follow yields: for staterrors their carriers, for shapesys their cell.
  int stat_count, stat_parameter, stat_start, stat_cell, stat_given, cell_stat, shape_count, shape_parameter, shape_cell,
      shape_given, cell_shape;
  // Numbers.
  int nominal, polynomial, ln_hi, ln_lo, templates, width, init, lower, upper, auxiliary_data, stat_uncertainty,
      shape_uncertainty;
} Plan;

// The memory of a row. What is touched often comes first: it lies in shared memory where it fits. The structure itself
// does so too, once for all threads: a copy for each would fill the first-level cache.
typedef struct {
  double *reduce, *theta, *gradient, *from_theta, *from_gradient, *direction, *right, *lower, *upper, *width, *aux,
      *inverse, *information, *x, *y, *dx, *dy, *rate, *weight, *counts, *of_bins, *more_bins, *product, *partial, *pull, *bend, *shifted,
      *shape, *gamma, *scaled, *shift, *matrix, *column, *border, *solved, *small, *of_border, *more_border, *products,
      *parts, *local;
  int *moving, *factored, *free;
  // Where the plan's arrays lie: with a small model in shared memory, too.
  const int *ints;
  const double *reals;
  // Large and rarely read.
  double *relative, *jacobian, *steps, *changes, *expected_slope, *best, *sizes;
  // Of the row.
  int pairs, next, riding, has_shift, is_mirrored, watched, has_moved, keeps;
  double nll;
} Row;

// Changes a number of the row, which all threads read.
#define SET(field, value)                 \
  do {                                    \
    SYNC;                                 \
    if (THREAD == 0) row->field = (value); \
    SYNC;                                 \
  } while (0)

FUNCTION double *take(double **memory, int count) {
  double *start = *memory;
  *memory += count;
  return start;
}

// Divides memory among the arrays of a row; with null pointers this counts how much is needed.
FUNCTION void divide(const Plan *plan, Row *row, double **hot, double **cold) {
  int n = plan->parameters, b = plan->bins, f = plan->border;
  row->reduce = take(hot, 64);
  row->theta = take(hot, n);
  row->gradient = take(hot, n);
  row->from_theta = take(hot, n);
  row->from_gradient = take(hot, n);
  row->direction = take(hot, n);
  row->right = take(hot, n);
  row->lower = take(hot, n);
  row->upper = take(hot, n);
  row->width = take(hot, n);
  row->inverse = take(hot, n);
  row->information = take(hot, n);
  row->x = take(hot, n);
  row->y = take(hot, n);
  row->dx = take(hot, n);
  row->dy = take(hot, n);
  row->local = take(hot, n);
  row->aux = take(hot, plan->auxiliary);
  row->rate = take(hot, b);
  row->weight = take(hot, b);
  row->counts = take(hot, b);
  row->of_bins = take(hot, b);
  row->more_bins = take(hot, b);
  row->product = take(hot, plan->blocks);
  row->pull = take(hot, plan->blocks);
  row->bend = take(hot, plan->blocks);
  row->shifted = take(hot, plan->blocks);
  row->partial = take(hot, 512 > plan->lanes ? 512 : plan->lanes);
  row->shape = take(hot, plan->cells);
  row->gamma = take(hot, plan->cells);
  row->scaled = take(hot, plan->cells);
  row->matrix = take(hot, b * b);
  row->column = take(hot, 3 * (b > f ? b : f));
  row->border = take(hot, b * f);
  row->solved = take(hot, b * f);
  row->small = take(hot, f * f);
  row->of_border = take(hot, f);
  row->more_border = take(hot, f);
  row->products = take(hot, PAIRS);
  row->parts = take(hot, PAIRS);
  row->moving = (int *)take(hot, (n + 1) / 2);
  row->factored = (int *)take(hot, (n + 1) / 2);
  row->free = (int *)take(hot, (n + 1) / 2);
  row->shift = take(cold, plan->cells);
  row->relative = take(cold, plan->depth * plan->lanes);
  row->jacobian = take(cold, b * plan->dense);
  row->steps = take(cold, PAIRS * n);
  row->changes = take(cold, PAIRS * n);
  row->expected_slope = take(cold, plan->cells);
  row->best = take(cold, n);
  row->sizes = take(cold, n);
}

FUNCTION double block_sum(Row *row, double x) {
  x = warp_sum(x);
  SYNC;
  if (LANE == 0) row->reduce[WARP] = x;
  SYNC;
  double sum = 0.0;
  ROLLED for (int i = 0; i < WARPS; ++i) sum += row->reduce[i];
  return sum;
}

FUNCTION double block_largest(Row *row, double x) {
  x = warp_largest(x);
  SYNC;
  if (LANE == 0) row->reduce[WARP] = x;
  SYNC;
  double largest = row->reduce[0];
  ROLLED for (int i = 1; i < WARPS; ++i) largest = fmax(largest, row->reduce[i]);
  return largest;
}

// −ln Pois(n|ν) without the part that depends on n alone.
FUNCTION double deviance(double n, double rate) {
  if (n == 0.0) return rate < 0.0 ? NAN : rate;
  double u = (rate - n) / n;
  return n * (u - log1p(u));
}

// −ln Pois(n|n).
FUNCTION double poisson_constant(double n) {
  if (n <= 0.0) return 0.0;
  if (n < 16.0) return n - n * log(n) + lgamma(n + 1.0);
  double r = 1.0 / (n * n);
  double tail = (1.0 / 12.0 + r * (-1.0 / 360.0 + r * (1.0 / 1260.0 + r * (-1.0 / 1680.0 + r * (1.0 / 1188.0 - r * 691.0 / 360360.0))))) / n;
  return 0.5 * log(2.0 * 3.14159265358979323846 * n) + tail;
}

// The functions x and y of a histosys parameter and their slopes: Δ = x S + y A.
FUNCTION void basis(int code, double alpha, double *values) {
  double sign = alpha > 0.0 ? 1.0 : -1.0, square = alpha * alpha;
  values[0] = alpha;
  values[2] = 1.0;
  if (code == 4) {
    if (square > 1.0) {
      values[1] = 8.0 * sign * alpha;
      values[3] = 8.0 * sign;
    } else {
      values[1] = square * (15.0 + square * (-10.0 + 3.0 * square));
      values[3] = alpha * (30.0 + square * (-40.0 + 18.0 * square));
    }
    return;
  }
  // Code 2 as in ROOT.
  if (square <= 1.0) {
    values[1] = 8.0 * square;
    values[3] = 16.0 * alpha;
  } else {
    values[1] = 8.0 * (2.0 * sign * alpha - 1.0);
    values[3] = 16.0 * sign;
  }
}

// The product of the per-bin factors of a cell, except that of one parameter.
FUNCTION double factors_of_cell(const Plan *plan, const Row *row, int block, int place, int without) {
  double product = 1.0;
  const int *start = INTS(gamma_start), *first = INTS(gamma_first);
  ROLLED for (int i = start[block]; i < start[block + 1]; ++i) {
    int parameter = first[i] + place;
    if (parameter != without) product *= row->theta[parameter];
  }
  return product;
}

// The product of a block's free factors, except that of one parameter.
FUNCTION double free_product(const Plan *plan, const Row *row, int block, int without) {
  double product = 1.0;
  const int *start = INTS(free_start), *parameter = INTS(free_parameter);
  ROLLED for (int i = start[block]; i < start[block + 1]; ++i)
    if (parameter[i] != without) product *= row->theta[parameter[i]];
  return product;
}

// The slope of a normsys factor over its value.
FUNCTION double relative_slope(const Plan *plan, const Row *row, int place, double alpha) {
  if (fabs(alpha) >= 1.0) return alpha > 0.0 ? REALS(ln_hi)[place] : -REALS(ln_lo)[place];
  int size = plan->depth * plan->lanes;
  const double *powers = REALS(polynomial) + place;
  double value = powers[5 * size], slope = value;
  ROLLED for (int power = 4; power >= 0; --power) {
    value = value * alpha + powers[power * size];
    slope = slope * alpha + value;
  }
  return slope / (value * alpha + 1.0);
}

// T of the cells, factors of the blocks and rates at `theta`; `bend` is Σ y/8 of each block.
FUNCTION void rates(const Plan *plan, Row *row, int gradient) {
  const double *theta = row->theta;
  EACH(p, plan->parameters) {
    double values[4];
    basis(plan->histosys_code, theta[p], values);
    row->x[p] = values[0];
    row->y[p] = values[1];
    if (row->is_mirrored) basis(plan->histosys_code, -theta[p], values);
    row->dx[p] = values[2];
    row->dy[p] = values[3];
  }
  SYNC;
  // Each group of threads multiplies every so many factors of its block.
  int lanes = plan->lanes, size = plan->depth * lanes, groups = THREADS > lanes ? THREADS / lanes : 1;
  const int *owner = INTS(norm_owner);
  const double *powers = REALS(polynomial);
  double *relative = row->relative;
  ROLLED for (int at = THREAD; at < lanes * groups; at += THREADS) {
    int block = at % lanes;
    double product = 1.0;
    // All numbers are loaded before one of them is used.
    _Pragma("unroll 2") for (int j = at / lanes; j < plan->depth; j += groups) {
      int place = j * lanes + block, p = owner[place];
      double c1 = powers[place], c2 = powers[size + place], c3 = powers[2 * size + place], c4 = powers[3 * size + place],
             c5 = powers[4 * size + place], c6 = powers[5 * size + place], alpha = p < 0 ? 0.0 : theta[p];
      double value = c6, slope = c6;
      value = value * alpha + c5;
      slope = slope * alpha + value;
      value = value * alpha + c4;
      slope = slope * alpha + value;
      value = value * alpha + c3;
      slope = slope * alpha + value;
      value = value * alpha + c2;
      slope = slope * alpha + value;
      value = value * alpha + c1;
      slope = slope * alpha + value;
      value = value * alpha + 1.0;
      slope /= value;
      if (fabs(alpha) >= 1.0) {
        slope = alpha > 0.0 ? REALS(ln_hi)[place] : -REALS(ln_lo)[place];
        value = exp(slope * alpha);
      }
      product *= value;
      if (gradient) relative[place] = row->is_mirrored ? relative_slope(plan, row, place, -alpha) : slope;
    }
    row->partial[at] = product;
  }
  const int *cell_block = INTS(cell_block), *first = INTS(block_cell), *owners = INTS(histo_owner);
  const Pair *templates = PAIRS_OF(templates);
  const double *nominal = REALS(nominal), *xs = row->x, *ys = row->y;
  EACH(cell, plan->cells) {
    int block = cell_block[cell], place = cell - first[block];
    double odd = nominal[cell], even = 0.0, bend = 0.0;
    UNROLLED for (int layer = 0; layer < plan->layers; ++layer) {
      int p = owners[layer * plan->blocks + block];
      Pair pair = templates[layer * plan->cells + cell];
      double x = p < 0 ? 0.0 : xs[p], y = p < 0 ? 0.0 : ys[p];
      odd += x * pair.odd;
      even += y * pair.even;
      bend += y;
    }
    double value = odd + even;
    if (row->has_shift) {
      // With templates that stay, A changes by −1/8 of a change of the nominal yield.
      bend = row->riding ? 0.0 : 0.125 * bend;
      value += row->shift[cell] * (1.0 - bend);
      if (place == 0) row->bend[block] = bend;
    }
    row->shape[cell] = value;
    row->gamma[cell] = factors_of_cell(plan, row, block, place, -1);
  }
  SYNC;
  EACH(block, plan->blocks) {
    double product = free_product(plan, row, block, -1);
    ROLLED for (int group = 0; group < groups; ++group) product *= row->partial[group * lanes + block];
    row->product[block] = product;
  }
  SYNC;
  const int *start = INTS(bin_start), *cells = INTS(bin_cell);
  EACH(bin, plan->bins) {
    double rate = 0.0;
    ROLLED for (int i = start[bin]; i < start[bin + 1]; ++i) {
      int cell = cells[i];
      rate += row->product[cell_block[cell]] * row->gamma[cell] * row->shape[cell];
    }
    row->rate[bin] = rate;
  }
  SYNC;
}

// Without its free factors, the product of a block. `partial` still has its parts.
FUNCTION double scaled_product(const Plan *plan, const Row *row, int block) {
  int groups = THREADS > plan->lanes ? THREADS / plan->lanes : 1;
  double product = 1.0;
  ROLLED for (int group = 0; group < groups; ++group) product *= row->partial[group * plan->lanes + block];
  return product;
}

// −log L at `theta` without constants that depend on the data alone; leaves rates, weights and the gradient.
FUNCTION double evaluate(const Plan *plan, Row *row) {
  rates(plan, row, 1);
  double nll = 0.0;
  EACH(bin, plan->bins) {
    double n = row->counts[bin], rate = row->rate[bin];
    nll += deviance(n, rate);
    row->weight[bin] = n == 0.0 ? 1.0 : (rate - n) / rate;
  }
  const int *kind = INTS(kind), *aux = INTS(aux);
  EACH(p, plan->parameters) {
    double slope = 0.0, value = row->theta[p];
    if (kind[p] == NORMAL) {
      double distance = (value - row->aux[aux[p]]) * row->width[p];
      nll += 0.5 * distance * distance;
      slope = distance * row->width[p];
    } else if (kind[p] == POISSON) {
      double n = row->aux[aux[p]], factor = row->width[p];
      nll += deviance(n, value * factor);
      slope = n == 0.0 ? factor : (value * factor - n) / value;
    }
    row->gradient[p] = slope;
  }
  nll = block_sum(row, nll);
  const int *cell_block = INTS(cell_block), *cell_bin = INTS(cell_bin), *first = INTS(block_cell);
  EACH(cell, plan->cells)
    row->scaled[cell] = row->weight[cell_bin[cell]] * row->gamma[cell] * row->product[cell_block[cell]];
  SYNC;
  EACH(block, plan->blocks) {
    double pull = 0.0, shifted = 0.0;
    ROLLED for (int cell = first[block]; cell < first[block + 1]; ++cell) {
      pull += row->scaled[cell] * row->shape[cell];
      if (row->has_shift) shifted += row->scaled[cell] * row->shift[cell];
    }
    row->pull[block] = pull;
    row->shifted[block] = shifted;
  }
  SYNC;
  const int *norm_row = INTS(norm_row), *norm_first = INTS(norm_first), *norm_end = INTS(norm_end),
            *histo_row = INTS(histo_row), *histo_first = INTS(histo_first), *histo_end = INTS(histo_end),
            *free_start = INTS(free_of_start), *free_block = INTS(free_of_block), *gamma_start = INTS(gamma_of_start),
            *gamma_cell = INTS(gamma_of_cell);
  const double *pull = row->pull, *scaled = row->scaled;
  EACH_WARP(p, plan->parameters) {
    double sum = 0.0;
    if (norm_row[p] >= 0) {
      const double *relative = row->relative + norm_row[p] * plan->lanes;
      EACH_LANE_UNROLLED(block, norm_first[p], norm_end[p]) sum += pull[block] * relative[block];
    }
    if (histo_row[p] >= 0) {
      const Pair *templates = PAIRS_OF(templates) + histo_row[p] * plan->cells;
      double dx = row->dx[p], dy = row->dy[p];
      EACH_LANE_UNROLLED(cell, histo_first[p], histo_end[p]) {
        Pair pair = templates[cell];
        sum += scaled[cell] * (dx * pair.odd + dy * pair.even);
      }
      if (row->has_shift && !row->riding) {
        const int *owner = INTS(histo_owner) + histo_row[p] * plan->blocks;
        EACH_LANE_UNROLLED(block, 0, plan->blocks) sum -= owner[block] == p ? 0.125 * dy * row->shifted[block] : 0.0;
      }
    }
    EACH_LANE(i, free_start[p], free_start[p + 1]) {
      // The pull without the free factors, one of which may be zero.
      int block = free_block[i];
      double bare = 0.0;
      UNROLLED for (int cell = first[block]; cell < first[block + 1]; ++cell)
        bare += row->weight[cell_bin[cell]] * row->gamma[cell] * row->shape[cell];
      sum += bare * scaled_product(plan, row, block) * free_product(plan, row, block, p);
    }
    EACH_LANE(i, gamma_start[p], gamma_start[p + 1]) {
      int cell = gamma_cell[i], block = cell_block[cell];
      double others = factors_of_cell(plan, row, block, cell - first[block], p);
      sum += row->product[block] * row->weight[cell_bin[cell]] * row->shape[cell] * others;
    }
    sum = warp_sum(sum);
    if (LANE == 0) row->gradient[p] += sum;
  }
  SYNC;
  SET(nll, nll);
  return nll;
}

// ∂ν of every bin, at the point of the latest evaluation.
FUNCTION void jacobian(const Plan *plan, Row *row, int observed) {
  const int *start = INTS(bin_start), *cells = INTS(bin_cell), *cell_block = INTS(cell_block), *first = INTS(block_cell),
            *parameter = INTS(dense_parameter), *gamma_start = INTS(gamma_start), *gamma_first = INTS(gamma_first),
            *free_start = INTS(free_start), *free_parameter = INTS(free_parameter);
  // The factors of each cell, until the next evaluation needs the memory.
  double *factor = row->scaled;
  EACH(cell, plan->cells) factor[cell] = row->product[cell_block[cell]] * row->gamma[cell];
  SYNC;
  EACH_WARP(at, plan->dense) {
    int p = parameter[at], norm_row = INTS(norm_row)[p], histo_row = INTS(histo_row)[p];
    int norm_first = INTS(norm_first)[p], norm_end = INTS(norm_end)[p];
    const int *histo_owner = INTS(histo_owner) + histo_row * plan->blocks;
    const double *relative = row->relative + norm_row * plan->lanes;
    const Pair *templates = PAIRS_OF(templates) + histo_row * plan->cells;
    int has_free = INTS(free_of_start)[p + 1] > INTS(free_of_start)[p],
        has_gamma = INTS(gamma_of_start)[p + 1] > INTS(gamma_of_start)[p], shifts = row->has_shift && !row->riding;
    double dx = row->dx[p], dy = row->dy[p];
    EACH_LANE(bin, 0, plan->bins) {
      double sum = 0.0;
      if (norm_row >= 0)
        UNROLLED for (int i = start[bin]; i < start[bin + 1]; ++i) {
          int cell = cells[i], block = cell_block[cell];
          // In the range of another block of this parameter, a block without it has a slope of zero.
          double slope = block >= norm_first && block < norm_end ? relative[block] : 0.0;
          sum += factor[cell] * row->shape[cell] * slope;
        }
      if (histo_row >= 0)
        UNROLLED for (int i = start[bin]; i < start[bin + 1]; ++i) {
          int cell = cells[i];
          Pair pair = templates[cell];
          double slope = dx * pair.odd + dy * pair.even;
          if (shifts) slope -= 0.125 * dy * row->shift[cell];
          sum += histo_owner[cell_block[cell]] == p ? factor[cell] * slope : 0.0;
        }
      if (has_free || has_gamma)
        ROLLED for (int i = start[bin]; i < start[bin + 1]; ++i) {
          int cell = cells[i], block = cell_block[cell], place = cell - first[block];
          ROLLED for (int k = free_start[block]; k < free_start[block + 1]; ++k)
            if (free_parameter[k] == p)
              sum += scaled_product(plan, row, block) * free_product(plan, row, block, p) * row->gamma[cell] *
                     row->shape[cell];
          ROLLED for (int k = gamma_start[block]; k < gamma_start[block + 1]; ++k)
            if (gamma_first[k] + place == p)
              sum += row->product[block] * factors_of_cell(plan, row, block, place, p) * row->shape[cell];
        }
      row->jacobian[bin * plan->dense + at] = sum;
    }
  }
  const int *local_bin = INTS(local_bin), *gamma_of_start = INTS(gamma_of_start), *gamma_of_cell = INTS(gamma_of_cell);
  EACH(p, plan->parameters) {
    if (local_bin[p] < 0) continue;
    double sum = 0.0;
    ROLLED for (int i = gamma_of_start[p]; i < gamma_of_start[p + 1]; ++i) {
      int cell = gamma_of_cell[i], block = cell_block[cell];
      sum += row->product[block] * row->shape[cell] * factors_of_cell(plan, row, block, cell - first[block], p);
    }
    row->local[p] = sum;
  }
  // The expected information of the constraints, which a factor keeps while the point moves on.
  const int *kind = INTS(kind);
  EACH(p, plan->parameters) {
    double width = row->width[p];
    row->information[p] = kind[p] == NORMAL ? width * width : kind[p] == POISSON ? width / fmax(row->theta[p], 1e-10) : 0.0;
  }
  EACH(bin, plan->bins) {
    double rate = fmax(row->rate[bin], 1e-10);
    row->more_bins[bin] = observed ? rate * rate / fmax(row->counts[bin], 0.05 * rate) : rate;
  }
  SYNC;
}

// Inverts a symmetric matrix in place by sweeps, which keep it symmetric; false if it has a direction downwards. A row
// that depends on those before is left out and has zeros instead: parameters that undo each other then share a step.
FUNCTION int invert(Row *row, double *matrix, int n) {
  double *before = row->column, *after = before + n, *size = after + n;
  EACH(i, n) {
    before[i] = matrix[i * n];
    size[i] = matrix[i * n + i];
  }
  SYNC;
  int is_positive = 1;
  ROLLED for (int k = 0; k < n; ++k) {
    double pivot = before[k];
    int is_left_out = !(pivot > 1e-12 * size[k]);
    if (pivot < -1e-9 * size[k] || !(pivot - pivot == 0.0)) {
      is_positive = 0;
      break;
    }
    double scale = is_left_out ? 0.0 : 1.0 / pivot;
    EACH_WARP(i, n) EACH_LANE(j, 0, n) {
      double value = matrix[i * n + j];
      if (i == k && j == k) value = -scale;
      else if (i == k) value = before[j] * scale;
      else if (j == k) value = before[i] * scale;
      else value -= before[i] * before[j] * scale;
      matrix[i * n + j] = value;
      if (j == k + 1) after[i] = value;
    }
    SYNC;
    double *free = before;
    before = after;
    after = free;
  }
  SYNC;
  EACH(i, n * n) matrix[i] = -matrix[i];
  SYNC;
  return is_positive;
}

// A bin's slope in a parameter of the border.
FUNCTION double border_slope(const Plan *plan, const Row *row, int p, int bin) {
  int at = INTS(column)[p];
  if (at >= 0) return row->jacobian[bin * plan->dense + at];
  return INTS(local_bin)[p] == bin ? row->local[p] : 0.0;
}

// Factorises the expected information of the moving parameters.
FUNCTION int factorise(const Plan *plan, Row *row) {
  int n = plan->bins, f = plan->border;
  const int *kind = INTS(kind), *dense = INTS(dense_parameter), *local_start = INTS(local_start),
            *locals = INTS(local_parameter), *border = INTS(border_parameter);
  EACH(p, plan->parameters) {
    row->factored[p] = row->moving[p];
    row->inverse[p] = row->moving[p] && kind[p] != FREE ? 1.0 / row->information[p] : 0.0;
  }
  EACH(i, n * f) {
    int p = border[i % f];
    row->border[i] = row->moving[p] ? border_slope(plan, row, p, i / f) : 0.0;
  }
  SYNC;
  // Pairs of bins, row by row of the lower triangle.
  EACH_WARP(pair, n * (n + 1) / 2) {
    int i = (int)((sqrt(8.0 * pair + 1.0) - 1.0) * 0.5);
    while (i * (i + 1) / 2 > pair) --i;
    while ((i + 1) * (i + 2) / 2 <= pair) ++i;
    int j = pair - i * (i + 1) / 2;
    const double *one = row->jacobian + i * plan->dense, *two = row->jacobian + j * plan->dense;
    double sum = 0.0;
    EACH_LANE_UNROLLED(at, 0, plan->dense) sum += one[at] * two[at] * row->inverse[dense[at]];
    if (i == j)
      EACH_LANE(at, local_start[i], local_start[i + 1]) {
        double slope = row->local[locals[at]];
        sum += slope * slope * row->inverse[locals[at]];
      }
    sum = warp_sum(sum);
    if (LANE == 0) {
      if (i == j) sum += row->more_bins[i];
      row->matrix[i * n + j] = sum;
      row->matrix[j * n + i] = sum;
    }
  }
  SYNC;
  if (!invert(row, row->matrix, n)) return 0;
  EACH_WARP(bin, n) EACH_LANE(k, 0, f) {
    double sum = 0.0;
    ROLLED for (int other = 0; other < n; ++other) sum += row->matrix[bin * n + other] * row->border[other * f + k];
    row->solved[bin * f + k] = sum;
  }
  SYNC;
  EACH(i, f * f) {
    int k = i / f, l = i % f;
    double sum = k == l && !row->moving[border[k]] ? 1.0 : 0.0;
    ROLLED for (int bin = 0; bin < n; ++bin) sum += row->border[bin * f + k] * row->solved[bin * f + l];
    row->small[i] = sum;
  }
  SYNC;
  return f == 0 || invert(row, row->small, f);
}

// Replaces `right` by the solution for the factored parameters; the others get zero.
FUNCTION void solve(const Plan *plan, Row *row) {
  int n = plan->bins, f = plan->border;
  const int *dense = INTS(dense_parameter), *local_start = INTS(local_start), *locals = INTS(local_parameter),
            *border = INTS(border_parameter), *kind = INTS(kind), *column = INTS(column), *local_bin = INTS(local_bin),
            *border_place = INTS(border_place);
  double *right = row->right, *known = row->of_bins;
  SYNC;
  EACH_WARP(bin, n) {
    const double *slopes = row->jacobian + bin * plan->dense;
    double sum = 0.0;
    EACH_LANE_UNROLLED(at, 0, plan->dense) sum += slopes[at] * row->inverse[dense[at]] * right[dense[at]];
    EACH_LANE(at, local_start[bin], local_start[bin + 1])
      sum += row->local[locals[at]] * row->inverse[locals[at]] * right[locals[at]];
    sum = warp_sum(sum);
    if (LANE == 0) known[bin] = sum;
  }
  SYNC;
  // Until the next evaluation nobody reads the weights: their memory holds the product with the inverse.
  EACH_WARP(bin, n) {
    double sum = 0.0;
    EACH_LANE(other, 0, n) sum += row->matrix[bin * n + other] * known[other];
    sum = warp_sum(sum);
    if (LANE == 0) row->weight[bin] = sum;
  }
  SYNC;
  EACH_WARP(k, f) {
    int p = border[k];
    double sum = 0.0;
    EACH_LANE(bin, 0, n) sum += row->border[bin * f + k] * row->weight[bin];
    sum = warp_sum(sum);
    if (LANE == 0) row->of_border[k] = row->factored[p] ? right[p] - sum : 0.0;
  }
  SYNC;
  EACH_WARP(k, f) {
    double sum = 0.0;
    EACH_LANE(l, 0, f) sum += row->small[k * f + l] * row->of_border[l];
    sum = warp_sum(sum);
    if (LANE == 0) row->more_border[k] = row->factored[border[k]] ? sum : 0.0;
  }
  SYNC;
  EACH_WARP(bin, n) {
    double sum = 0.0;
    EACH_LANE(k, 0, f) sum += row->solved[bin * f + k] * row->more_border[k];
    sum = warp_sum(sum);
    if (LANE == 0) known[bin] = row->weight[bin] + sum;
  }
  SYNC;
  EACH(p, plan->parameters) {
    if (!row->factored[p]) {
      right[p] = 0.0;
    } else if (kind[p] == FREE) {
      right[p] = row->more_border[border_place[p]];
    } else {
      double sum = 0.0;
      int at = column[p];
      if (at >= 0)
        _Pragma("unroll 4") for (int bin = 0; bin < n; ++bin) sum += row->jacobian[bin * plan->dense + at] * known[bin];
      else if (local_bin[p] >= 0)
        sum = row->local[p] * known[local_bin[p]];
      right[p] = row->inverse[p] * (right[p] - sum);
    }
  }
  SYNC;
}

// Subtracts from `right` the expected information times the step of held parameters: `direction` where `moving` is not.
FUNCTION void subtract_held(const Plan *plan, Row *row) {
  const int *dense = INTS(dense_parameter), *local_start = INTS(local_start), *locals = INTS(local_parameter),
            *column = INTS(column), *local_bin = INTS(local_bin);
  EACH_WARP(bin, plan->bins) {
    const double *slopes = row->jacobian + bin * plan->dense;
    double sum = 0.0;
    EACH_LANE(at, 0, plan->dense)
      if (!row->moving[dense[at]]) sum += slopes[at] * row->direction[dense[at]];
    EACH_LANE(at, local_start[bin], local_start[bin + 1])
      if (!row->moving[locals[at]]) sum += row->local[locals[at]] * row->direction[locals[at]];
    sum = warp_sum(sum);
    if (LANE == 0) row->of_bins[bin] = sum / row->more_bins[bin];
  }
  SYNC;
  EACH(p, plan->parameters) {
    if (!row->moving[p]) continue;
    double sum = 0.0;
    int at = column[p];
    if (at >= 0)
      ROLLED for (int bin = 0; bin < plan->bins; ++bin) sum += row->jacobian[bin * plan->dense + at] * row->of_bins[bin];
    else if (local_bin[p] >= 0)
      sum = row->local[p] * row->of_bins[local_bin[p]];
    row->right[p] -= sum;
  }
  SYNC;
}

// Updates the parameters that bounds hold; the largest remaining gradient.
FUNCTION double activate(const Plan *plan, Row *row) {
  double kkt = 0.0;
  EACH(p, plan->parameters) {
    double value = row->theta[p], slope = row->gradient[p];
    int held = (value <= row->lower[p] && slope >= 0.0) || (value >= row->upper[p] && slope <= 0.0);
    row->moving[p] = row->free[p] && !held;
    if (row->moving[p]) {
      double size = fabs(slope);
      kkt = size > kkt ? size : size == size ? kkt : INFINITY;
    }
  }
  return block_largest(row, kkt);
}

FUNCTION int same_factored(const Plan *plan, Row *row) {
  double differs = 0.0;
  EACH(p, plan->parameters) if (row->moving[p] != row->factored[p]) differs = 1.0;
  return block_largest(row, differs) == 0.0;
}

// The first loop of BFGS over `right`, before a solve, and the second one, after it (Nocedal, 1980).
FUNCTION void secants_before(const Plan *plan, Row *row) {
  int n = plan->parameters;
  if (WARP == 0)
    ROLLED for (int back = 1; back <= row->pairs; ++back) {
      int at = (row->next + PAIRS - back) % PAIRS;
      double sum = 0.0;
      EACH_LANE_UNROLLED(p, 0, n) sum += row->steps[at * n + p] * row->right[p];
      double part = warp_sum(sum) / row->products[at];
      if (LANE == 0) row->parts[at] = part;
      EACH_LANE_UNROLLED(p, 0, n) row->right[p] -= part * row->changes[at * n + p];
      SYNC_WARP;
    }
  SYNC;
}

FUNCTION void secants_after(const Plan *plan, Row *row) {
  int n = plan->parameters;
  if (WARP == 0)
    ROLLED for (int back = row->pairs; back >= 1; --back) {
      int at = (row->next + PAIRS - back) % PAIRS;
      double sum = 0.0;
      EACH_LANE_UNROLLED(p, 0, n) sum += row->changes[at * n + p] * row->right[p];
      double part = row->parts[at] - warp_sum(sum) / row->products[at];
      EACH_LANE_UNROLLED(p, 0, n) row->right[p] += part * row->steps[at * n + p];
      SYNC_WARP;
    }
  SYNC;
}

// Learns from the latest step; false if the curvature along it is not positive.
FUNCTION int learn(const Plan *plan, Row *row) {
  int n = plan->parameters, at = row->next;
  double sum = 0.0;
  EACH(p, n) {
    double step = 0.0, change = 0.0;
    if (row->factored[p]) {
      step = row->theta[p] - row->from_theta[p];
      change = row->gradient[p] - row->from_gradient[p];
    }
    row->steps[at * n + p] = step;
    row->changes[at * n + p] = change;
    sum += step * change;
  }
  sum = block_sum(row, sum);
  if (!(sum > 1e-300)) return 0;
  if (THREAD == 0) row->products[at] = sum;
  SET(next, (at + 1) % PAIRS);
  SET(pairs, row->pairs < PAIRS ? row->pairs + 1 : PAIRS);
  SYNC;
  return 1;
}

// The step with the held factor and the secants; false if a parameter would leave its range.
FUNCTION int held_direction(const Plan *plan, Row *row) {
  EACH(p, plan->parameters) row->right[p] = row->moving[p] ? -row->gradient[p] : 0.0;
  SYNC;
  secants_before(plan, row);
  solve(plan, row);
  secants_after(plan, row);
  double leaves = 0.0;
  EACH(p, plan->parameters) {
    double step = row->moving[p] ? row->right[p] : 0.0, to = row->theta[p] + step;
    row->direction[p] = step;
    if (row->moving[p] && !(to >= row->lower[p] && to <= row->upper[p])) leaves = 1.0;
  }
  return block_largest(row, leaves) == 0.0;
}

// The step within the bounds: parameters that would leave their range are held at its end and the rest is solved again.
FUNCTION int bounded_direction(const Plan *plan, Row *row) {
  SET(pairs, 0);
  SET(next, 0);
  EACH(p, plan->parameters) row->direction[p] = 0.0;
  SYNC;
  int any = 0;
  ROLLED for (int round = 0; round < 25; ++round) {
    if (!same_factored(plan, row) && !factorise(plan, row)) return 0;
    EACH(p, plan->parameters) row->right[p] = row->moving[p] ? -row->gradient[p] : 0.0;
    SYNC;
    if (any) subtract_held(plan, row);
    solve(plan, row);
    double leaves = 0.0;
    EACH(p, plan->parameters) {
      if (!row->moving[p]) continue;
      double step = row->right[p], to = row->theta[p] + step;
      if (!(to >= row->lower[p] && to <= row->upper[p])) {
        leaves = 1.0;
        row->moving[p] = 0;
        step = (to < row->lower[p] ? row->lower[p] : row->upper[p]) - row->theta[p];
      }
      row->direction[p] = step;
    }
    if (block_largest(row, leaves) == 0.0) return 1;
    any = 1;
  }
  return 0;
}

// Moves along the direction as far as that lowers −log L: 2 for a full step, 1 for a part, 0 for none.
FUNCTION int search(const Plan *plan, Row *row, double kkt) {
  double slope = 0.0, nll = row->nll;
  EACH(p, plan->parameters) {
    slope += row->gradient[p] * row->direction[p];
    row->from_theta[p] = row->theta[p];
    row->from_gradient[p] = row->gradient[p];
  }
  slope = block_sum(row, slope);
  if (!(slope < 0.0)) return 0;
  double noise = 1e-13 * (1.0 + fabs(nll)), part = 1.0;
  ROLLED for (int attempt = 0; attempt < 12; ++attempt) {
    EACH(p, plan->parameters) {
      double to = row->from_theta[p] + part * row->direction[p];
      if (row->free[p]) row->theta[p] = to < row->lower[p] ? row->lower[p] : to > row->upper[p] ? row->upper[p] : to;
    }
    SYNC;
    double there = evaluate(plan, row);
    if (there - there == 0.0) {
      if (there <= nll + 1e-4 * part * slope) return part == 1.0 ? 2 : 1;
      if (-slope < 100.0 * noise && there <= nll + noise) {
        // Rounding hides how much lower this is, so the slope along the direction decides.
        double along = 0.0;
        EACH(p, plan->parameters) along += row->gradient[p] * row->direction[p];
        along = block_sum(row, along);
        if (along <= -0.5 * slope || activate(plan, row) < kkt) return part == 1.0 ? 2 : 1;
        part *= fmax(slope / (slope - along), 0.1);
        continue;
      }
      double curve = there - nll - part * slope, best = -0.5 * slope * part * part / curve;
      part = fmin(fmax(best, 0.1 * part), 0.5 * part);
    } else {
      part *= 0.25;
    }
  }
  EACH(p, plan->parameters) row->theta[p] = row->from_theta[p];
  SYNC;
  evaluate(plan, row);
  return 0;
}

// Minimises −log L from `theta`; the largest projected gradient is left in `kkt`, the number of steps in `steps`.
FUNCTION int fit(const Plan *plan, Row *row, double tolerance, int most, double *kkt, int *steps) {
  EACH(p, plan->parameters)
    if (row->free[p]) row->theta[p] = fmin(fmax(row->theta[p], row->lower[p]), row->upper[p]);
  SYNC;
  SET(pairs, 0);
  SET(next, 0);
  *steps = 0;
  double nll = evaluate(plan, row);
  *kkt = INFINITY;
  if (!(nll - nll == 0.0)) return NO_START;
  // A fit from near an earlier one keeps its Jacobian matrix.
  int factors = row->keeps ? 2 : 0, since = 0, renew = !row->keeps;
  double first = INFINITY, side = row->watched >= 0 ? row->theta[row->watched] : 0.0;
  for (;;) {
    if (row->watched >= 0 && *steps <= 4 && row->theta[row->watched] * side <= 0.0) return LED_BACK;
    *kkt = activate(plan, row);
    if (*kkt < tolerance) return CONVERGED;
    if (*steps >= most) return EXHAUSTED;
    if (since >= 4 && *kkt > first) renew = 1;
    int bounded = 0;
    if (renew) {
      jacobian(plan, row, factors > 0);
      if (!factorise(plan, row)) return SINGULAR;
      SET(pairs, 0);
      SET(next, 0);
      ++factors;
      since = 0;
      first = *kkt;
      renew = 0;
    } else if (!same_factored(plan, row)) {
      bounded = 1;
    }
    if (bounded || !held_direction(plan, row)) {
      activate(plan, row);
      if (!bounded_direction(plan, row)) return SINGULAR;
    }
    int taken = search(plan, row, *kkt);
    ++*steps;
    ++since;
    if (taken == 0) {
      // A new factor may still lead on.
      if (since == 1 && !(row->keeps && factors == 2)) return STALLED;
      renew = 1;
    } else {
      // The point after the first step is near enough to the minimum for a factor that is held.
      renew = factors == 1 || !learn(plan, row) || (since >= 2 * PAIRS);
    }
  }
}

// The parameter with the largest pull below `most`, and that pull: how far a parameter is from its measurement in
// standard deviations, or infinitely far at an end of its range that nothing but the range holds it at.
FUNCTION int farthest(const Plan *plan, Row *row, const double *theta, double most, int after, double *pull) {
  const int *kind = INTS(kind), *aux = INTS(aux);
  double largest = 0.0;
  EACH(p, plan->parameters) {
    double value = theta[p], width = row->width[p], size = 0.0;
    if (row->free[p] && p != plan->poi) {
      if (kind[p] == NORMAL) size = fabs(value - row->aux[aux[p]]) * width;
      else if (kind[p] == POISSON) size = fabs(value * width - row->aux[aux[p]]) / sqrt(width);
      else if ((value <= row->lower[p] || value >= row->upper[p]) && value != REALS(init)[p]) size = 1e300;
    }
    // Equal pulls are taken in the order of their parameters.
    row->right[p] = size < most || (size == most && p > after) ? size : 0.0;
    largest = fmax(largest, row->right[p]);
  }
  *pull = largest = block_largest(row, largest);
  double first = -1e300;
  EACH(p, plan->parameters) if (row->right[p] == largest && first == -1e300) first = -(double)p;
  first = block_largest(row, first);
  return (int)-first;
}

// Fits from `theta` and keeps the minimum if it is lower than the best one so far.
FUNCTION int improves(const Plan *plan, Row *row, double tolerance, int most, double *nll, double *kkt, int *steps) {
  int more;
  double there;
  SET(keeps, 1);
  int ended = fit(plan, row, tolerance, most, &there, &more);
  SET(keeps, 0);
  *steps += more;
  if (ended != CONVERGED || !(row->nll < *nll - DIFFERENT)) return 0;
  *nll = row->nll;
  *kkt = there;
  EACH(i, plan->parameters) row->best[i] = row->theta[i];
  SYNC;
  return 1;
}

// A lower minimum from the mirror image of a parameter that may have one on both sides of zero. The gradient with the
// slopes that interpolations have at −α shows which parameters may: it splits the push on α into a part that is the same
// on both sides and one that changes its sign.
FUNCTION int mirror(const Plan *plan, Row *row, double tolerance, int most, double *nll, double *kkt, int *steps) {
  const int *kind = INTS(kind);
  double *given = row->sizes;
  EACH(p, plan->parameters) {
    row->theta[p] = row->best[p];
    given[p] = row->gradient[p];
  }
  SYNC;
  SET(is_mirrored, 1);
  evaluate(plan, row);
  SET(is_mirrored, 0);
  EACH(p, plan->parameters) {
    double value = row->best[p], sign = value > 0.0 ? 1.0 : -1.0, size = 0.0;
    if (row->free[p] && kind[p] == NORMAL && fabs(value) >= LEAST_PULL) {
      double push = 0.5 * (row->gradient[p] - given[p]) * sign, pull = fabs(value) * row->width[p] * row->width[p];
      if (push > SHARE * pull) size = push / pull;
    }
    given[p] = size;
  }
  SYNC;
  double largest = 1e300;
  int fits = 0;
  ROLLED for (int tried = 0; tried < MOST_MIRRORED; ++tried) {
    double next = 0.0, place = -1e300;
    EACH(p, plan->parameters) next = fmax(next, given[p] < largest ? given[p] : 0.0);
    next = block_largest(row, next);
    if (!(next > 0.0) || fits >= MOST_MIRRORED_FITS) break;
    EACH(p, plan->parameters) if (given[p] == next) place = fmax(place, -(double)p);
    int p = (int)-block_largest(row, place);
    largest = next;
    EACH(i, plan->parameters) row->theta[i] = row->best[i];
    SYNC;
    if (THREAD == 0) row->theta[p] = fmin(fmax(-row->best[p], row->lower[p]), row->upper[p]);
    SYNC;
    SET(has_moved, 1);
    if (!(evaluate(plan, row) - *nll < MOST_RISE)) continue;
    ++fits;
    SET(watched, p);
    int improved = improves(plan, row, tolerance, most, nll, kkt, steps);
    SET(watched, -1);
    if (improved) return 1;
  }
  return 0;
}

// A lower minimum without a parameter that went far: it returns to its initial value, the others follow, and it is
// released there.
FUNCTION int reset(const Plan *plan, Row *row, double tolerance, int most, double *nll, double *kkt, int *steps) {
  double pull = 1e301;
  int p = -1;
  ROLLED for (int resets = 0; resets < MOST_RESETS; ++resets) {
    p = farthest(plan, row, row->best, pull, p, &pull);
    if (!(pull > FAR)) return 0;
    SET(has_moved, 1);
    EACH(i, plan->parameters) row->theta[i] = i == p ? REALS(init)[i] : row->best[i];
    if (THREAD == 0) row->free[p] = 0;
    SYNC;
    int more;
    double there;
    SET(keeps, 1);
    int ended = fit(plan, row, tolerance, most, &there, &more);
    SET(keeps, 0);
    *steps += more;
    if (THREAD == 0) row->free[p] = 1;
    SYNC;
    if (ended == CONVERGED && row->nll <= *nll + MOST_ABOVE && improves(plan, row, tolerance, most, nll, kkt, steps))
      return 1;
  }
  return 0;
}

// The lowest minimum that the searches of a fit on the CPU find from here. Rates and weights are those of its point.
FUNCTION int lowest(const Plan *plan, Row *row, double tolerance, int most, double *kkt, int *steps) {
  int status = fit(plan, row, tolerance, most, kkt, steps);
  SET(keeps, 0);
  if (status != CONVERGED) return status;
  double nll = row->nll;
  SET(has_moved, 0);
  EACH(i, plan->parameters) row->best[i] = row->theta[i];
  SYNC;
  ROLLED for (int round = 0; round < MOST_ROUNDS; ++round) {
    if (round > 0) {
      EACH(i, plan->parameters) row->theta[i] = row->best[i];
      SYNC;
      evaluate(plan, row);
    }
    if (!mirror(plan, row, tolerance, most, &nll, kkt, steps) &&
        !reset(plan, row, tolerance, most, &nll, kkt, steps))
      break;
  }
  if (!row->has_moved) return CONVERGED;
  EACH(i, plan->parameters) row->theta[i] = row->best[i];
  SYNC;
  evaluate(plan, row);
  return CONVERGED;
}

// The row's own data and constraints.
FUNCTION void prepare(const Plan *plan, Row *row) {
  EACH(p, plan->parameters) {
    row->lower[p] = REALS(lower)[p];
    row->upper[p] = REALS(upper)[p];
    row->width[p] = REALS(width)[p];
    row->free[p] = !INTS(fixed)[p];
  }
  SET(has_shift, 0);
  SET(riding, 0);
  SYNC;
}

FUNCTION void load(const Plan *plan, Row *row, const double *data) {
  EACH(bin, plan->bins) row->counts[bin] = data[bin];
  EACH(i, plan->auxiliary) row->aux[i] = data[plan->bins + i];
  SYNC;
}

// What the data alone contribute to −log L, with the normal constraints' constants.
FUNCTION double constants(const Plan *plan, Row *row) {
  double sum = 0.0;
  EACH(bin, plan->bins) sum += poisson_constant(row->counts[bin]);
  EACH(p, plan->parameters) {
    int kind = INTS(kind)[p];
    if (kind == NORMAL) sum += log(2.50662827463100050242 / row->width[p]);
    if (kind == POISSON) sum += poisson_constant(row->aux[INTS(aux)[p]]);
  }
  return block_sum(row, sum);
}

// ---------------------------------------------------------------------------------------------------------------------
// Random numbers: Philox 4×32 with ten rounds, the same streams as on the CPU.

typedef struct {
  u32 key[2], counter[4];
  double spare;
  int has_spare;
} Stream;

FUNCTION double unit(u32 high, u32 low) {
  return (double)((((u64)high << 32) | (u64)low) >> 11) * (1.0 / 9007199254740992.0);
}

FUNCTION double uniform(Stream *stream) {
  if (stream->has_spare) {
    stream->has_spare = 0;
    return stream->spare;
  }
  u32 c[4], k[2];
  _Pragma("unroll") for (int i = 0; i < 4; ++i) c[i] = stream->counter[i];
  _Pragma("unroll") for (int i = 0; i < 2; ++i) k[i] = stream->key[i];
  _Pragma("unroll") for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      k[0] += 0x9E3779B9u;
      k[1] += 0xBB67AE85u;
    }
    u64 one = (u64)0xD2511F53u * (u64)c[0], two = (u64)0xCD9E8D57u * (u64)c[2];
    u32 next0 = (u32)(two >> 32) ^ c[1] ^ k[0], next2 = (u32)(one >> 32) ^ c[3] ^ k[1];
    c[0] = next0;
    c[1] = (u32)two;
    c[2] = next2;
    c[3] = (u32)one;
  }
  stream->counter[0] += 1;
  stream->spare = unit(c[2], c[3]);
  stream->has_spare = 1;
  return unit(c[0], c[1]);
}

FUNCTION double normal(Stream *stream) {
  double radius = 1.0 - uniform(stream), angle = uniform(stream);
  return sqrt(-2.0 * log(radius)) * cos(2.0 * 3.14159265358979323846 * angle);
}

FUNCTION double poisson(Stream *stream, double rate) {
  if (!(rate > 0.0)) return 0.0;
  if (rate < 12.0) {
    double left = uniform(stream), count = 0.0, probability = exp(-rate);
    while (left > probability && count < 200.0) {
      left -= probability;
      count += 1.0;
      probability *= rate / count;
    }
    return count;
  }
  // Hörmann's transformed rejection.
  double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b, inverse = 1.1239 + 1.1328 / (b - 3.4),
         fast = 0.9277 - 3.6224 / (b - 2.0);
  for (;;) {
    double u = uniform(stream) - 0.5, v = uniform(stream), distance = 0.5 - fabs(u),
           count = floor((2.0 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= fast) return count;
    if (count < 0.0 || (distance < 0.013 && v > distance)) continue;
    double accepted = log(v * inverse / (a / (distance * distance) + b));
    if (accepted <= count * log(rate) - rate - lgamma(count + 1.0)) return count;
  }
}

FUNCTION void draw(const Plan *plan, Row *row, const double *expected, u64 seed, u64 number) {
  const int *kind = INTS(kind), *aux = INTS(aux);
  EACH(place, plan->bins + plan->parameters) {
    int p = place - plan->bins, at = place;
    if (p >= 0) {
      if (kind[p] == FREE) continue;
      at = plan->bins + aux[p];
    }
    Stream stream;
    stream.key[0] = (u32)seed;
    stream.key[1] = (u32)(seed >> 32);
    stream.counter[0] = 0;
    stream.counter[1] = (u32)at;
    stream.counter[2] = (u32)number;
    stream.counter[3] = (u32)(number >> 32);
    stream.has_spare = 0;
    stream.spare = 0.0;
    if (p < 0) row->counts[place] = poisson(&stream, expected[at]);
    else if (kind[p] == NORMAL) row->aux[aux[p]] = expected[at] + normal(&stream) / row->width[p];
    else row->aux[aux[p]] = poisson(&stream, expected[at]);
  }
  SYNC;
}

// ---------------------------------------------------------------------------------------------------------------------
// Kernels.

// Memory of rows, beside shared memory. A small model keeps everything there: its rows and the plan's arrays.
typedef struct {
  double *hot, *cold;
  int hot_size, cold_size, hot_shared, cold_shared, plan_shared;
} Memory;

// Divides the memory of this block among a row's arrays.
FUNCTION void begin(const Plan *plan, Row *row, const Memory *memory, double *shared) {
  double *hot = memory->hot_shared ? shared : memory->hot + (u64)BLOCK * memory->hot_size;
  double *more = shared + memory->hot_size;
  double *cold = memory->cold_shared ? more : memory->cold + (u64)BLOCK * memory->cold_size;
  double *reals = more + memory->cold_size;
  int *ints = (int *)(reals + plan->reals_count);
  if (memory->plan_shared) {
    EACH(i, plan->reals_count) reals[i] = plan->reals[i];
    EACH(i, plan->ints_count) ints[i] = plan->ints[i];
  }
  if (THREAD == 0) {
    divide(plan, row, &hot, &cold);
    row->ints = memory->plan_shared ? ints : plan->ints;
    row->reals = memory->plan_shared ? reals : plan->reals;
    row->pairs = row->next = row->has_shift = row->riding = row->is_mirrored = row->keeps = 0;
    row->watched = -1;
    row->nll = 0.0;
  }
  SYNC;
}

#ifdef HOST
#define SHARED double *shared = shared_memory
#define IN_SHARED
#else
#define SHARED extern __shared__ __align__(16) double shared[]
#define IN_SHARED __shared__
#endif

// −log L and gradients of rows of points and data.
typedef struct {
  const double *points, *data;
  double *nll, *gradient;
  int rows, data_stride;
} Evaluate;

FUNCTION void evaluate_rows(const Plan *plan, Row *row, const Evaluate *call) {
  int n = plan->parameters;
  ROLLED for (int at = BLOCK; at < call->rows; at += GRID) {
    prepare(plan, row);
    load(plan, row, call->data + (u64)at * call->data_stride);
    EACH(p, n) row->theta[p] = call->points[(u64)at * n + p];
    SYNC;
    double nll = evaluate(plan, row) + constants(plan, row);
    if (THREAD == 0) call->nll[at] = nll;
    EACH(p, n) call->gradient[(u64)at * n + p] = row->gradient[p];
    SYNC;
  }
}

// Fits of rows of data, perhaps with the parameter of interest held.
typedef struct {
  const double *start, *data;
  double *theta, *nll, *kkt;
  int *status, *steps;
  double tolerance, held, lower, upper;
  int rows, start_stride, data_stride, holds, most;
} Fit;

FUNCTION void choose(const Plan *plan, Row *row, int holds, double held, double lower, double upper) {
  if (THREAD == 0 && plan->poi >= 0) {
    row->lower[plan->poi] = lower;
    row->upper[plan->poi] = upper;
    row->free[plan->poi] = !holds && !INTS(fixed)[plan->poi];
    if (holds) row->theta[plan->poi] = held;
  }
  SYNC;
}

FUNCTION void fit_rows(const Plan *plan, Row *row, const Fit *call) {
  int n = plan->parameters;
  ROLLED for (int at = BLOCK; at < call->rows; at += GRID) {
    prepare(plan, row);
    load(plan, row, call->data + (u64)at * call->data_stride);
    EACH(p, n) row->theta[p] = call->start[(u64)at * call->start_stride + p];
    SYNC;
    choose(plan, row, call->holds, call->held, call->lower, call->upper);
    double kkt;
    int steps, status = fit(plan, row, call->tolerance, call->most, &kkt, &steps);
    double whole = row->nll + constants(plan, row);
    EACH(p, n) call->theta[(u64)at * n + p] = row->theta[p];
    if (THREAD == 0) {
      call->nll[at] = whole;
      call->kkt[at] = kkt;
      call->status[at] = status;
      call->steps[at] = steps;
    }
    SYNC;
  }
}

// Test statistics of toys that are drawn here.
typedef struct {
  const double *expected, *start;
  double *statistic, *mu_hat, *data;
  int *status;
  u64 seed, first;
  double tolerance, mu, lower, upper;
  int rows, kind, most, keeps_data;
} Toys;

FUNCTION void toys_rows(const Plan *plan, Row *row, const Toys *call) {
  int n = plan->parameters, poi = plan->poi;
  ROLLED for (int at = BLOCK; at < call->rows; at += GRID) {
    prepare(plan, row);
    draw(plan, row, call->expected, call->seed, call->first + (u64)at);
    if (call->keeps_data) {
      double *data = call->data + (u64)at * (plan->bins + plan->auxiliary);
      EACH(bin, plan->bins) data[bin] = row->counts[bin];
      EACH(i, plan->auxiliary) data[plan->bins + i] = row->aux[i];
    }
    EACH(p, n) row->theta[p] = call->start[p];
    SYNC;
    double kkt;
    int steps;
    choose(plan, row, 0, 0.0, call->lower, call->upper);
    int status = lowest(plan, row, call->tolerance, call->most, &kkt, &steps);
    double best = row->nll, mu_hat = row->theta[poi];
    if (status == CONVERGED) {
      SYNC;
      choose(plan, row, 1, call->mu, call->lower, call->upper);
      SET(keeps, 1);
      status = lowest(plan, row, call->tolerance, call->most, &kkt, &steps);
      if (status == CONVERGED && row->nll < best - DIFFERENT) status = DOUBTFUL;
    }
    if (THREAD == 0) {
      double t = fmax(2.0 * (row->nll - best), 0.0);
      if (call->kind == TEST_Q0) t = mu_hat < 0.0 ? 0.0 : t;
      else if (call->kind != TEST_T) t = mu_hat > call->mu ? 0.0 : t;
      call->statistic[at] = status == CONVERGED ? t : NAN;
      call->mu_hat[at] = mu_hat;
      call->status[at] = status;
    }
    SYNC;
  }
}

// The discovery significance on expected data as a function of nominal yields, with its slopes.
typedef struct {
  const double *inputs;
  const int *cell;
  double *value, *slopes;
  int *status;
  double tolerance, mu, smooth;
  int rows, count, riding, takes_root, most;
} Loss;

// Constraints whose widths follow the yields of the row.
FUNCTION void follow_yields(const Plan *plan, Row *row) {
  const int *parameter = INTS(stat_parameter), *start = INTS(stat_start), *cell = INTS(stat_cell),
            *given = INTS(stat_given), *shape_cell = INTS(shape_cell), *shape_given = INTS(shape_given);
  const double *nominal = REALS(nominal), *uncertainty = REALS(stat_uncertainty);
  EACH(i, plan->stat_count) {
    double sum = 0.0, squares = 0.0;
    ROLLED for (int k = start[i]; k < start[i + 1]; ++k) sum += nominal[cell[k]] + row->shift[cell[k]];
    ROLLED for (int k = start[i]; k < start[i + 1]; ++k) squares += (uncertainty[k] / sum) * (uncertainty[k] / sum);
    double width = sum > 0.0 ? sqrt(squares) : 0.0;
    int p = parameter[i];
    if (!(given[i] & 1)) row->width[p] = width > 0.0 ? 1.0 / width : 1.0;
    if (!(given[i] & 2)) row->free[p] = width > 0.0;
  }
  EACH(i, plan->shape_count) {
    double yield = nominal[shape_cell[i]] + row->shift[shape_cell[i]], delta = REALS(shape_uncertainty)[i];
    int p = INTS(shape_parameter)[i], is_constrained = yield > 0.0 && delta > 0.0;
    if (!(shape_given[i] & 1)) row->width[p] = is_constrained ? (yield * yield) / (delta * delta) : 1.0;
    if (!(shape_given[i] & 2)) row->free[p] = is_constrained;
  }
  SYNC;
}

FUNCTION void loss_rows(const Plan *plan, Row *row, const Loss *call) {
  int n = plan->parameters, poi = plan->poi;
  ROLLED for (int at = BLOCK; at < call->rows; at += GRID) {
    const double *inputs = call->inputs + (u64)at * call->count;
    double *slopes = call->slopes + (u64)at * call->count;
    prepare(plan, row);
    SET(has_shift, 1);
    SET(riding, call->riding);
    EACH(cell, plan->cells) row->shift[cell] = 0.0;
    EACH(p, n) row->theta[p] = p == poi ? call->mu : REALS(init)[p];
    SYNC;
    double bad = 0.0;
    EACH(i, call->count) {
      double value = inputs[i];
      if (!(value - value == 0.0)) bad = 1.0;
      row->shift[call->cell[i]] = value - REALS(nominal)[call->cell[i]];
    }
    bad = block_largest(row, bad);
    follow_yields(plan, row);
    // The data are the rates and the measurements that these parameters lead to.
    rates(plan, row, 0);
    EACH(bin, plan->bins) {
      row->counts[bin] = row->rate[bin];
      if (!(row->rate[bin] >= 0.0)) bad = 1.0;
    }
    EACH(p, n) {
      int kind = INTS(kind)[p], aux = INTS(aux)[p];
      if (kind == NORMAL) row->aux[aux] = row->theta[p];
      if (kind == POISSON) row->aux[aux] = row->theta[p] * row->width[p];
    }
    EACH(cell, plan->cells) {
      int block = INTS(cell_block)[cell];
      row->expected_slope[cell] = row->product[block] * row->gamma[cell] * (1.0 - row->bend[block]);
    }
    bad = block_largest(row, bad);
    double kkt = 0.0, lower = REALS(lower)[poi], upper = REALS(upper)[poi];
    int steps = 0, status = NO_START;
    if (bad == 0.0) {
      choose(plan, row, 1, 0.0, lower, upper);
      status = lowest(plan, row, call->tolerance, call->most, &kkt, &steps);
    }
    // Less than this is rounding, whose slopes would be those of a root near zero.
    double q0 = call->mu < 0.0 || 2.0 * row->nll < 1e-14 ? 0.0 : 2.0 * row->nll, value = q0, scale = 1.0;
    if (call->takes_root) {
      value = sqrt(q0 + call->smooth);
      scale = value > 0.0 ? 0.5 / value : 1.0;
    }
    if (!(q0 > 0.0)) scale = 0.0;
    EACH(i, call->count) {
      double slope = 0.0;
      if (status == CONVERGED && scale != 0.0) {
        int cell = call->cell[i], block = INTS(cell_block)[cell], bin = INTS(cell_bin)[cell];
        double rate = row->rate[bin], count = row->counts[bin];
        double weight = count == 0.0 && rate == 0.0 ? 0.0 : row->weight[bin];
        slope = weight * row->product[block] * row->gamma[cell] * (1.0 - row->bend[block]);
        double in_count = (rate > 0.0 ? -log(rate) : 0.0) - (count > 0.0 ? -log(count) : 0.0);
        slope += in_count * row->expected_slope[cell];
        int stat = INTS(cell_stat)[cell], shape = INTS(cell_shape)[cell];
        if (stat >= 0 && !(INTS(stat_given)[stat] & 1)) {
          int p = INTS(stat_parameter)[stat], start = INTS(stat_start)[stat],
              end = INTS(stat_start)[stat + 1];
          double sum = 0.0, distance = (row->theta[p] - row->aux[INTS(aux)[p]]) * row->width[p];
          ROLLED for (int k = start; k < end; ++k) {
            int other = INTS(stat_cell)[k];
            sum += REALS(nominal)[other] + row->shift[other];
          }
          if (sum > 0.0) slope += distance * distance / sum;
        }
        if (shape >= 0 && !(INTS(shape_given)[shape] & 1)) {
          int p = INTS(shape_parameter)[shape];
          double yield = REALS(nominal)[cell] + row->shift[cell], value_there = REALS(init)[p];
          if (row->free[p])
            slope += (row->theta[p] - value_there - value_there * log(row->theta[p] / value_there)) * 2.0 * row->width[p] / yield;
        }
        slope *= 2.0 * scale;
      }
      slopes[i] = slope;
    }
    if (THREAD == 0) {
      call->value[at] = status == CONVERGED ? value : NAN;
      call->status[at] = status;
    }
    SYNC;
  }
}

// What to do with which rows.
typedef struct {
  int task;
  union {
    Evaluate evaluate;
    Fit fit;
    Toys toys;
    Loss loss;
  } rows;
} Call;

// The one kernel: with one for each task, each would have its own copy of a whole fit.
KERNEL hf_rows(ARGUMENT Plan plan, ARGUMENT Memory memory, ARGUMENT Call call) {
  SHARED;
  IN_SHARED Row row;
  begin(&plan, &row, &memory, shared);
  if (call.task == 0) evaluate_rows(&plan, &row, &call.rows.evaluate);
  else if (call.task == 1) fit_rows(&plan, &row, &call.rows.fit);
  else if (call.task == 2) toys_rows(&plan, &row, &call.rows.toys);
  else loss_rows(&plan, &row, &call.rows.loss);
}

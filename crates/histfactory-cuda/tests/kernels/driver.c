// A CUDA driver for the tests, without a GPU: memory of the device is memory of the process, and a launch runs the
// kernels' own source for one block after the other, each a single thread.
//
// Memory is filled with NaN, and what lies behind it is checked when it is freed, so that reading too early and writing
// too far are noticed. `driver_set` plants faults.

#define HOST
#include "../../kernels/histfactory.cu"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION, MEMORY, MAJOR, REFUSES_CUBINS, REFUSES_TEXT, DEVICES, PROCESSORS, SHARED_BYTES, SETTINGS };
static long settings[SETTINGS];
static long used, launches;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void defaults(void) {
  static const long usual[SETTINGS] = {12080, 1L << 34, 9, 0, 0, 1, 3, 232448};
  memcpy(settings, usual, sizeof usual);
}

__attribute__((constructor)) static void start(void) { defaults(); }

// For the tests: a planted fault, and everything as usual.
void driver_set(int which, long value) { settings[which] = value; }
void driver_reset(void) { defaults(); }
long driver_used(void) { return used; }
long driver_launches(void) { return launches; }

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, NO_BINARY = 209 };
static const unsigned char MARK = 0xA5;
enum { EDGE = 64 };

typedef struct {
  size_t size;
  char filling[EDGE - sizeof(size_t)];
} Head;

int cuInit(unsigned flags) { return flags ? INVALID_VALUE : settings[DEVICES] ? 0 : NO_DEVICE; }

int cuDriverGetVersion(int *version) {
  *version = (int)settings[VERSION];
  return 0;
}

int cuDeviceGet(int *device, int number) {
  if (number < 0 || number >= settings[DEVICES]) return INVALID_DEVICE;
  *device = number;
  return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "test device %d", device);
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 16: *value = (int)settings[PROCESSORS]; return 0;
    case 75: *value = (int)settings[MAJOR]; return 0;
    case 76: *value = 0; return 0;
    case 97: *value = (int)settings[SHARED_BYTES]; return 0;
    default: return INVALID_VALUE;
  }
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = (void *)(size_t)(device + 1);
  return 0;
}

int cuCtxSetCurrent(void *context) { return context ? 0 : INVALID_VALUE; }
int cuCtxSynchronize(void) { return 0; }

int cuModuleLoadData(void **module, const void *image) {
  int is_cubin = memcmp(image, "\177ELF", 4) == 0;
  if (is_cubin ? settings[REFUSES_CUBINS] : settings[REFUSES_TEXT]) return NO_BINARY;
  if (!is_cubin && !strstr(image, ".version")) return INVALID_VALUE;
  *module = (void *)1;
  return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  if (!module || strcmp(name, "hf_rows")) return INVALID_VALUE;
  *function = (void *)1;
  return 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
  return function && attribute == 8 && value >= 0 ? 0 : INVALID_VALUE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
  if (!function || threads < 1) return INVALID_VALUE;
  *blocks = shared <= (size_t)settings[SHARED_BYTES] ? 2 : 0;
  return 0;
}

int cuMemAlloc_v2(u64 *address, size_t size) {
  if (size == 0) return INVALID_VALUE;
  if (used + (long)size > settings[MEMORY]) return OUT_OF_MEMORY;
  Head *head = malloc(sizeof(Head) + size + EDGE);
  if (!head) return OUT_OF_MEMORY;
  head->size = size;
  char *memory = (char *)(head + 1);
  memset(memory, 0xFF, size);
  memset(memory + size, MARK, EDGE);
  __sync_fetch_and_add(&used, (long)size);
  *address = (u64)memory;
  return 0;
}

int cuMemFree_v2(u64 address) {
  Head *head = (Head *)address - 1;
  for (int i = 0; i < EDGE; ++i)
    if (((unsigned char *)address)[head->size + (size_t)i] != MARK) {
      fprintf(stderr, "a kernel wrote behind memory of %zu bytes\n", head->size);
      abort();
    }
  __sync_fetch_and_sub(&used, (long)head->size);
  free(head);
  return 0;
}

int cuMemcpyHtoD_v2(u64 to, const void *from, size_t size) {
  memcpy((void *)to, from, size);
  return 0;
}

int cuMemcpyDtoH_v2(void *to, u64 from, size_t size) {
  memcpy(to, (const void *)from, size);
  return 0;
}

int cuLaunchKernel(void *function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned threads, unsigned y, unsigned z,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  (void)stream;
  if (!function || !grid || grid_y != 1 || grid_z != 1 || !threads || y != 1 || z != 1 || extra) return INVALID_VALUE;
  if ((long)shared > settings[SHARED_BYTES]) return INVALID_VALUE;
  pthread_mutex_lock(&turn);
  unsigned char *memory = malloc(shared + EDGE);
  GRID = (int)grid;
  for (BLOCK = 0; BLOCK < GRID; ++BLOCK) {
    memset(memory, 0xFF, shared);
    memset(memory + shared, MARK, EDGE);
    shared_memory = (double *)memory;
    hf_rows(*(const Plan *)arguments[0], *(const Memory *)arguments[1], *(const Call *)arguments[2]);
    for (int i = 0; i < EDGE; ++i)
      if (memory[shared + (unsigned)i] != MARK) {
        fprintf(stderr, "a kernel wrote behind its %u bytes of shared memory\n", shared);
        abort();
      }
  }
  free(memory);
  ++launches;
  pthread_mutex_unlock(&turn);
  return 0;
}

static const char *name_of(int code) {
  switch (code) {
    case INVALID_VALUE: return "CUDA_ERROR_INVALID_VALUE";
    case OUT_OF_MEMORY: return "CUDA_ERROR_OUT_OF_MEMORY";
    case NO_DEVICE: return "CUDA_ERROR_NO_DEVICE";
    case INVALID_DEVICE: return "CUDA_ERROR_INVALID_DEVICE";
    case NO_BINARY: return "CUDA_ERROR_NO_BINARY_FOR_GPU";
    default: return "CUDA_ERROR_UNKNOWN";
  }
}

int cuGetErrorName(int code, const char **name) {
  *name = name_of(code);
  return 0;
}

int cuGetErrorString(int code, const char **text) {
  *text = code == NO_DEVICE ? "no CUDA-capable device is detected" : "planted by the test";
  return 0;
}

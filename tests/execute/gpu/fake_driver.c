/* A CUDA driver without a GPU: what tests of the launcher load in the place of libcuda.
 *
 * Memory of its devices is memory of the host.  All calls are written down, with their arguments, and any of them can be
 * told to fail.  A "cubin" is text, a line for each thing in it:
 *
 *     target sm_90
 *     kernel NAME SIZES         the sizes of its parameters in bytes, as in 8,8,4
 *     does NAME WHAT            add, print, assert, wild, count; a kernel that does nothing is only written down
 *     takes NAME MICROSECONDS   by the clock of events; 250 if nothing is said
 *     global NAME SIZE
 *
 * Kernels run when somebody synchronizes, but for `add`, which runs at once.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int CUresult;
enum { MOST = 64, CONTEXTS = 0x1000, STREAMS = 0x20000 };

typedef struct {
    char name[64], does[16];
    int count, sizes[64], shared, takes;
} Kernel;
typedef struct {
    char name[64];
    size_t size;
    void *memory[MOST];
} Global;
typedef struct {
    int live, major, minor;
    int kernels, globals;
    Kernel *kernel;
    Global *global;
} Library;
typedef struct {
    uintptr_t start;
    size_t size;
    int device, is_host, own;
    uintptr_t context;
} Memory;
typedef struct {
    char function[64];
    int code, skip, times;
} Failure;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static size_t used, room;
static int devices, version, major, minor, initialized, sticky, pending_sticky, capturing;
static long initializer;
static Library *libraries[4096];
static int library_count;
static Memory memory[4096];
static int memory_count;
static long now, event_times[4096];
static int made_events, events, streams, retained[MOST];
static Failure failures[MOST];
static int failure_count;
static char pending_output[65536];
static __thread uintptr_t stack[MOST];
static __thread int depth;

static void note(const char *format, ...) {
    char line[8192];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    line[size++] = '\n';
    if (used + size + 1 > room) {
        room = 2 * room + size + 4096;
        text = realloc(text, room);
    }
    memcpy(text + used, line, size);
    used += size;
    text[used] = 0;
}

/* --- for tests --- */

void fake_reset(int count, int cuda, int capability) {
    pthread_mutex_lock(&lock);
    devices = count, version = cuda, major = capability / 10, minor = capability % 10;
    initialized = sticky = pending_sticky = 0;
    used = 0;
    failure_count = 0;
    pending_output[0] = 0;
    depth = events = 0;
    for (int n = 0; n < memory_count; n++)
        if (memory[n].own) free((void *)memory[n].start);
    memory_count = 0;
    for (int n = 0; n < library_count; n++) libraries[n]->live = 0;
    if (text) text[0] = 0;
    pthread_mutex_unlock(&lock);
}
const char *fake_log(void) { return text ? text : ""; }
void fake_clear(void) {
    used = 0;
    if (text) text[0] = 0;
}
void fake_fail(const char *function, int code, int skip, int times) {
    Failure *failure = &failures[failure_count++];
    snprintf(failure->function, sizeof failure->function, "%s", function);
    failure->code = code, failure->skip = skip, failure->times = times;
}
void fake_forgive(void) { failure_count = sticky = pending_sticky = 0; }
void fake_own(uintptr_t start, size_t size, int device, uintptr_t context, int is_host) {
    memory[memory_count++] = (Memory){start, size, device, is_host, 0, context};
}
void fake_disown(uintptr_t start) {
    for (int n = 0; n < memory_count; n++)
        if (memory[n].start == start) memory[n] = memory[--memory_count];
}
void fake_capture(int is_on) { capturing = is_on; }
uintptr_t fake_stream(int device) { return STREAMS + 0x100 * ++streams + device; }
uintptr_t fake_context(int device) { return CONTEXTS + 0x100 + device; }
void fake_push(uintptr_t context) { stack[depth++] = context; }
uintptr_t fake_current(void) { return depth ? stack[depth - 1] : 0; }
int fake_depth(void) { return depth; }
const char *fake_live(void) {
    static char line[256];
    int live = 0, own = 0;
    for (int n = 0; n < library_count; n++) live += libraries[n]->live;
    for (int n = 0; n < memory_count; n++) own += memory[n].own;
    snprintf(line, sizeof line, "libraries %d, allocations %d, events %d", live, own, events);
    return line;
}

/* --- what every call does first --- */

static CUresult enter(const char *function) {
    if (initialized && (long)getpid() != initializer) return 3;
    for (int n = 0; n < failure_count; n++) {
        Failure *failure = &failures[n];
        if (!strcmp(failure->function, function) && failure->times) {
            if (failure->skip) {
                failure->skip--;
                continue;
            }
            failure->times--;
            return failure->code;
        }
    }
    if (!initialized) return 3;
    /* As seen on an H200: which context is current can be asked and changed after a kernel has run wild. */
    int is_context = !strncmp(function, "cuCtxGet", 8) || !strncmp(function, "cuCtxP", 6);
    return is_context || !strncmp(function, "cuDevice", 8) || !strcmp(function, "cuLibraryUnload") ? 0 : sticky;
}
#define ENTER(...)                                          \
    pthread_mutex_lock(&lock);                              \
    note(__VA_ARGS__);                                      \
    CUresult result = enter(__func__);                      \
    if (result) {                                           \
        pthread_mutex_unlock(&lock);                        \
        return result;                                      \
    }
#define LEAVE(code)                                         \
    do {                                                    \
        CUresult leaving = (code);                          \
        pthread_mutex_unlock(&lock);                        \
        return leaving;                                     \
    } while (0)

static uintptr_t here(void) { return depth ? stack[depth - 1] : 0; }
static int device_of(uintptr_t context) { return context & 0xff; }

/* --- the driver --- */

CUresult cuInit(unsigned flags) {
    pthread_mutex_lock(&lock);
    note("cuInit %u", flags);
    int was = initialized;
    initialized = 1;
    if (!was) initializer = getpid();
    CUresult result = enter("cuInit");
    if (!result && !devices) result = 100;
    if (result) initialized = was;
    pthread_mutex_unlock(&lock);
    return result;
}
CUresult cuDriverGetVersion(int *found) {
    pthread_mutex_lock(&lock);
    note("cuDriverGetVersion");
    CUresult result = enter(__func__);
    *found = version;
    pthread_mutex_unlock(&lock);
    return result == 3 ? 0 : result;
}
CUresult cuGetErrorName(CUresult code, const char **found) {
    static char other[64];
    switch (code) {
    case 1: *found = "CUDA_ERROR_INVALID_VALUE"; return 0;
    case 2: *found = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
    case 3: *found = "CUDA_ERROR_NOT_INITIALIZED"; return 0;
    case 100: *found = "CUDA_ERROR_NO_DEVICE"; return 0;
    case 201: *found = "CUDA_ERROR_INVALID_CONTEXT"; return 0;
    case 209: *found = "CUDA_ERROR_NO_BINARY_FOR_GPU"; return 0;
    case 400: *found = "CUDA_ERROR_INVALID_HANDLE"; return 0;
    case 500: *found = "CUDA_ERROR_NOT_FOUND"; return 0;
    case 700: *found = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
    case 701: *found = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; return 0;
    case 710: *found = "CUDA_ERROR_ASSERT"; return 0;
    case 719: *found = "CUDA_ERROR_LAUNCH_FAILED"; return 0;
    case 999: *found = "CUDA_ERROR_UNKNOWN"; return 0;
    }
    if (code > 2000) return 1;
    snprintf(other, sizeof other, "CUDA_ERROR_%d", code);
    *found = other;
    return 0;
}
CUresult cuGetErrorString(CUresult code, const char **found) {
    static char words[64];
    if (code > 2000) return 1;
    snprintf(words, sizeof words, "the words for %d", code);
    *found = code == 700 ? "an illegal memory access was encountered" : words;
    return 0;
}
CUresult cuDeviceGetCount(int *found) {
    ENTER("cuDeviceGetCount")
    *found = devices;
    LEAVE(0);
}
CUresult cuDeviceGet(int *found, int ordinal) {
    ENTER("cuDeviceGet %d", ordinal)
    *found = ordinal;
    LEAVE(ordinal < devices ? 0 : 101);
}
CUresult cuDeviceGetName(char *name, int size, int device) {
    ENTER("cuDeviceGetName %d", device)
    snprintf(name, size, "Fake GPU %d", device);
    LEAVE(0);
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
    ENTER("cuDeviceTotalMem_v2 %d", device)
    *bytes = (size_t)8 << 30;
    LEAVE(0);
}
CUresult cuDeviceGetAttribute(int *found, int attribute, int device) {
    ENTER("cuDeviceGetAttribute %d %d", attribute, device)
    *found = attribute == 75 ? major : attribute == 76 ? minor : 100 + attribute;
    LEAVE(0);
}
CUresult cuDevicePrimaryCtxRetain(uintptr_t *context, int device) {
    ENTER("cuDevicePrimaryCtxRetain %d", device)
    retained[device]++;
    *context = CONTEXTS + device;
    LEAVE(0);
}
CUresult cuCtxGetCurrent(uintptr_t *context) {
    ENTER("cuCtxGetCurrent")
    *context = here();
    LEAVE(0);
}
CUresult cuCtxGetDevice(int *device) {
    ENTER("cuCtxGetDevice")
    *device = device_of(here());
    LEAVE(here() ? 0 : 201);
}
CUresult cuCtxPushCurrent_v2(uintptr_t context) {
    ENTER("cuCtxPushCurrent_v2 %#lx", (long)context)
    stack[depth++] = context;
    LEAVE(0);
}
CUresult cuCtxPopCurrent_v2(uintptr_t *context) {
    ENTER("cuCtxPopCurrent_v2")
    if (!depth) LEAVE(201);
    *context = stack[--depth];
    LEAVE(0);
}
static Memory *owner(uintptr_t address) {
    for (int n = 0; n < memory_count; n++)
        if (memory[n].start <= address && address < memory[n].start + memory[n].size) return &memory[n];
    return NULL;
}
CUresult cuPointerGetAttribute(void *data, int attribute, uintptr_t pointer) {
    ENTER("cuPointerGetAttribute %d", attribute)
    Memory *found = owner(pointer);
    if (!found) LEAVE(1);
    if (attribute == 1) *(uintptr_t *)data = found->context;
    else if (attribute == 2) *(unsigned *)data = found->is_host ? 1 : 2;
    else if (attribute == 9) *(int *)data = found->device;
    else LEAVE(1);
    LEAVE(0);
}
CUresult cuMemAlloc_v2(uintptr_t *address, size_t size) {
    ENTER("cuMemAlloc_v2 %zu", size)
    if (!here()) LEAVE(201);
    *address = (uintptr_t)malloc(size);
    memory[memory_count++] = (Memory){*address, size, device_of(here()), 0, 1, here()};
    LEAVE(0);
}
CUresult cuMemFree_v2(uintptr_t address) {
    ENTER("cuMemFree_v2")
    for (int n = 0; n < memory_count; n++)
        if (memory[n].start == address && memory[n].own) {
            free((void *)address);
            memory[n] = memory[--memory_count];
            LEAVE(0);
        }
    LEAVE(1);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int cuda, uint64_t flags, int *status) {
    char name[128];
    static void *self;
    if (!self) {
        Dl_info info;
        dladdr((void *)cuInit, &info);
        self = dlopen(info.dli_fname, RTLD_NOW);
    }
    snprintf(name, sizeof name, "%s_v2", symbol);
    *function = dlsym(self, name);
    if (!*function) *function = dlsym(self, symbol);
    if (status) *status = *function ? 0 : 1;
    return *function ? 0 : 500;
}

/* --- libraries --- */

CUresult cuLibraryLoadData(uintptr_t *found, const char *code, void *a, void *b, unsigned c, void *d, void *e, unsigned f) {
    ENTER("cuLibraryLoadData")
    if (strncmp(code, "target sm_", 10)) LEAVE(200);
    Library *library = calloc(1, sizeof *library);
    library->kernel = calloc(16, sizeof(Kernel));
    library->global = calloc(16, sizeof(Global));
    int number = atoi(code + 10);
    library->major = number / 10, library->minor = number % 10;
    char *copy = strdup(code), *rest = copy, *line;
    while ((line = strsep(&rest, "\n"))) {
        char name[64], value[256];
        if (sscanf(line, "kernel %63s %255s", name, value) == 2) {
            Kernel *kernel = &library->kernel[library->kernels++];
            strcpy(kernel->name, name);
            kernel->takes = 250;
            char *sizes = value, *size;
            while (strcmp(value, "-") && (size = strsep(&sizes, ","))) kernel->sizes[kernel->count++] = atoi(size);
        } else if (sscanf(line, "does %63s %255s", name, value) == 2) {
            for (int n = 0; n < library->kernels; n++)
                if (!strcmp(library->kernel[n].name, name)) snprintf(library->kernel[n].does, 16, "%.15s", value);
        } else if (sscanf(line, "takes %63s %255s", name, value) == 2) {
            for (int n = 0; n < library->kernels; n++)
                if (!strcmp(library->kernel[n].name, name)) library->kernel[n].takes = atoi(value);
        } else if (sscanf(line, "global %63s %255s", name, value) == 2) {
            Global *global = &library->global[library->globals++];
            strcpy(global->name, name);
            global->size = atol(value);
        }
    }
    free(copy);
    if (library->major != major || library->minor > minor) LEAVE(209);
    library->live = 1;
    libraries[library_count++] = library;
    *found = (uintptr_t)library;
    LEAVE(0);
}
CUresult cuLibraryUnload(Library *library) {
    ENTER("cuLibraryUnload")
    if (!library->live) LEAVE(400);
    library->live = 0;
    LEAVE(0);
}
CUresult cuLibraryGetKernel(Kernel **found, Library *library, const char *name) {
    ENTER("cuLibraryGetKernel %s", name)
    for (int n = 0; n < library->kernels; n++)
        if (!strcmp(library->kernel[n].name, name)) {
            *found = &library->kernel[n];
            LEAVE(0);
        }
    LEAVE(500);
}
/* A kernel in one context; the driver does not look for the context of one, and refuses it in another. */
typedef struct {
    Kernel *kernel;
    uintptr_t context;
} Function;
static Function functions[256];
static int function_count;

CUresult cuKernelGetFunction(Function **found, Kernel *kernel) {
    ENTER("cuKernelGetFunction %s", kernel->name)
    if (!here()) LEAVE(201);
    Function *made = &functions[function_count++ % 256];
    made->kernel = kernel, made->context = here();
    *found = made;
    LEAVE(0);
}
CUresult cuFuncSetAttribute(Function *function, int attribute, int value) {
    ENTER("cuFuncSetAttribute %s %d %d", function->kernel->name, attribute, value)
    if (attribute == 8 && value > 227 << 10) LEAVE(1);
    function->kernel->shared = value;
    LEAVE(0);
}
/* A descriptor is the address, the type, the rank and so on, as they were given, and zeros. */
CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank, uintptr_t address, const uint64_t *dims, const uint64_t *strides,
    const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
    char line[1024];
    int end = snprintf(line, sizeof line, "cuTensorMapEncodeTiled type %d dims", type);
    for (unsigned n = 0; n < rank; n++) end += snprintf(line + end, sizeof line - end, " %lu", (long)dims[n]);
    end += snprintf(line + end, sizeof line - end, " strides");
    for (unsigned n = 0; n + 1 < rank; n++) end += snprintf(line + end, sizeof line - end, " %lu", (long)strides[n]);
    end += snprintf(line + end, sizeof line - end, " box");
    for (unsigned n = 0; n < rank; n++) end += snprintf(line + end, sizeof line - end, " %u/%u", box[n], steps[n]);
    ENTER("%s interleave %d swizzle %d promotion %d fill %d", line, interleave, swizzle, promotion, fill)
    if ((uintptr_t)map % 64 || address % 16 || rank < 1 || rank > 5) LEAVE(1);
    for (unsigned n = 0; n < rank; n++)
        if (!dims[n] || dims[n] > 1l << 32 || !box[n] || box[n] > 256) LEAVE(1);
    for (unsigned n = 0; n + 1 < rank; n++)
        if (strides[n] % 16 || strides[n] >= 1l << 40) LEAVE(1);
    memset(map, 0, 128);
    ((uint64_t *)map)[0] = address, ((uint64_t *)map)[1] = rank, ((uint64_t *)map)[2] = dims[0], ((uint64_t *)map)[3] = swizzle;
    LEAVE(0);
}
CUresult cuLibraryGetGlobal(uintptr_t *address, size_t *bytes, Library *library, const char *name) {
    ENTER("cuLibraryGetGlobal %s", name)
    if (!here()) LEAVE(201);
    for (int n = 0; n < library->globals; n++)
        if (!strcmp(library->global[n].name, name)) {
            Global *global = &library->global[n];
            void **slot = &global->memory[device_of(here())];
            if (!*slot) *slot = calloc(1, global->size);
            *address = (uintptr_t)*slot, *bytes = global->size;
            LEAVE(0);
        }
    LEAVE(500);
}

/* --- launches --- */

typedef struct {
    unsigned grid[3], block[3], shared;
    uintptr_t stream;
    void *attributes;
    unsigned count;
} Configuration;

static uintptr_t context_of(uintptr_t stream) { return stream > STREAMS ? CONTEXTS + (stream & 0xff) : here(); }

static void run(Kernel *kernel, void **parameters) {
    if (!strcmp(kernel->does, "add")) {
        float *a = *(float **)parameters[0], *b = *(float **)parameters[1], *c = *(float **)parameters[2];
        int count = *(int *)parameters[3];
        for (int n = 0; n < count; n++) c[n] = a[n] + b[n];
    } else if (!strcmp(kernel->does, "count")) {
        ++**(float **)parameters[0];
    } else if (!strcmp(kernel->does, "print")) {
        size_t end = strlen(pending_output);
        snprintf(pending_output + end, sizeof pending_output - end, "printed by %s\n", kernel->name);
    } else if (!strcmp(kernel->does, "assert")) {
        /* As seen on an H200: a line for each element, among what is printed. */
        snprintf(pending_output, sizeof pending_output,
            "said before\n<tileir>:7: tile block: [1, 0, 0], position: [2]: it holds\n<tileir>:7: tile block: [1, 0, 0], position: [3]: it holds\n");
        pending_sticky = 719;
    } else if (!strcmp(kernel->does, "wild"))
        pending_sticky = 700;
}
CUresult cuLaunchKernelEx(const Configuration *c, void *given, void **parameters, void **extra) {
    pthread_mutex_lock(&lock);
    Function *function = (Function *)given;
    int in_one_context = function >= functions && function < functions + 256;
    Kernel *kernel = in_one_context ? function->kernel : (Kernel *)given;
    char line[4096];
    int end = snprintf(line, sizeof line, "cuLaunchKernelEx %s grid %u %u %u block %u %u %u shared %u stream %#lx context %#lx attributes %u parameters", kernel->name,
        c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, (long)c->stream, (long)context_of(c->stream), c->count);
    for (int n = 0; n < kernel->count; n++) {
        int is_aligned = kernel->sizes[n] < 128 || (uintptr_t)parameters[n] % 64 == 0;
        end += snprintf(line + end, sizeof line - end, "%s%s", n ? "," : " ", is_aligned ? "" : "misaligned ");
        for (int byte = 0; byte < kernel->sizes[n]; byte++)
            end += snprintf(line + end, sizeof line - end, "%02x", ((unsigned char *)parameters[n])[byte]);
    }
    if (c->count) {
        const unsigned *attribute = c->attributes;
        end += snprintf(line + end, sizeof line - end, " attribute %u %u %u %u", attribute[0], attribute[2], attribute[3], attribute[4]);
    }
    CUresult refused = !context_of(c->stream) ? 201 : in_one_context && context_of(c->stream) != function->context ? 400 : 0;
    note("%s%s", refused ? "refused: " : "", line);
    CUresult result = enter(__func__);
    if (!result) result = refused;
    if (!result && c->shared > 48 << 10 && (int)c->shared > kernel->shared) result = 1;
    if (!result) {
        now += kernel->takes;
        run(kernel, parameters);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* --- streams, events, copies --- */

static CUresult synchronized(void) {
    /* As the real one does: with the descriptors themselves, past the buffers of whoever launches. */
    if (pending_output[0] && write(1, pending_output, strlen(pending_output)) < 0) return 999;
    pending_output[0] = 0;
    if (pending_sticky) sticky = pending_sticky;
    return sticky;
}
CUresult cuCtxSynchronize(void) {
    ENTER("cuCtxSynchronize")
    LEAVE(synchronized());
}
CUresult cuStreamSynchronize(uintptr_t stream) {
    ENTER("cuStreamSynchronize %#lx", (long)stream)
    LEAVE(synchronized());
}
CUresult cuStreamWaitEvent(uintptr_t stream, uintptr_t event, unsigned flags) {
    ENTER("cuStreamWaitEvent %#lx", (long)stream)
    LEAVE(0);
}
CUresult cuStreamIsCapturing(uintptr_t stream, int *status) {
    ENTER("cuStreamIsCapturing %#lx", (long)stream)
    *status = capturing;
    LEAVE(0);
}
CUresult cuEventCreate(uintptr_t *event, unsigned flags) {
    ENTER("cuEventCreate %u", flags)
    events++;
    *event = 0x30000 + made_events++ % 4096;
    LEAVE(0);
}
CUresult cuEventRecord(uintptr_t event, uintptr_t stream) {
    ENTER("cuEventRecord %#lx", (long)stream)
    event_times[event - 0x30000] = now;
    LEAVE(0);
}
CUresult cuEventQuery(uintptr_t event) {
    ENTER("cuEventQuery")
    LEAVE(0);
}
CUresult cuEventSynchronize(uintptr_t event) {
    ENTER("cuEventSynchronize")
    LEAVE(synchronized());
}
CUresult cuEventElapsedTime(float *milliseconds, uintptr_t start, uintptr_t end) {
    ENTER("cuEventElapsedTime")
    *milliseconds = (event_times[end - 0x30000] - event_times[start - 0x30000]) / 1000.0f;
    LEAVE(0);
}
CUresult cuEventDestroy_v2(uintptr_t event) {
    ENTER("cuEventDestroy_v2")
    events--;
    LEAVE(0);
}
CUresult cuMemsetD8Async(void *to, unsigned char byte, size_t size, uintptr_t stream) {
    ENTER("cuMemsetD8Async %d %zu %#lx", byte, size, (long)stream)
    memset(to, byte, size);
    LEAVE(0);
}
CUresult cuMemcpyHtoD_v2(void *to, const void *from, size_t size) {
    ENTER("cuMemcpyHtoD_v2 %zu", size)
    memcpy(to, from, size);
    LEAVE(0);
}
CUresult cuMemcpyDtoH_v2(void *to, const void *from, size_t size) {
    ENTER("cuMemcpyDtoH_v2 %zu", size)
    CUresult code = synchronized();
    if (!code) memcpy(to, from, size);
    LEAVE(code);
}
CUresult cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t size, uintptr_t stream) {
    ENTER("cuMemcpyHtoDAsync_v2 %zu %#lx", size, (long)stream)
    memcpy(to, from, size);
    LEAVE(0);
}
CUresult cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t size, uintptr_t stream) {
    ENTER("cuMemcpyDtoDAsync_v2 %zu %#lx", size, (long)stream)
    memcpy(to, from, size);
    LEAVE(0);
}
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    ENTER("cuMemGetInfo_v2")
    *free = (size_t)1 << 30, *total = (size_t)8 << 30;
    LEAVE(0);
}
CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER("cuThreadExchangeStreamCaptureMode %d", *mode)
    static __thread int now;
    int was = now;
    now = *mode, *mode = was;
    LEAVE(0);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, uintptr_t stream) {
    ENTER("cuMemcpyDtoHAsync_v2 %zu %#lx", size, (long)stream)
    memcpy(to, from, size);
    LEAVE(0);
}

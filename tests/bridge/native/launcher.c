/* Launches the kernel `axpy` of a file: y = a * x + y for arrays of n elements, of which the kernel is told m.
 *
 *     launcher FILE N M     the file is loaded by the driver, functions are linked
 *     launcher FILE N M +   the file is assembled by `tileiras`; functions are looked up, and called in a thread
 *     launcher FILE N M NVRTC HEADERS     the file is C++, which that library compiles
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long Handle;
static int (*address_of)(const char *, void **, int, Handle, int *);
static char **words;

static int call(const char *name, Handle a, Handle b, Handle c, Handle d) {
    int (*function)(Handle, Handle, Handle, Handle) = NULL;
    if (address_of(name, (void **)&function, 13000, 0, NULL)) printf("no %s\n", name), exit(2);
    int code = function(a, b, c, d);
    const char *text = "?";
    if (code) {
        int (*text_of)(int, const char **);
        address_of("cuGetErrorName", (void **)&text_of, 13000, 0, NULL);
        text_of(code, &text);
        printf("%s: %s\n", name, text);
        exit(3);
    }
    return code;
}
#define CALL(name, a, b, c, d) call(name, (Handle)(a), (Handle)(b), (Handle)(c), (Handle)(d))

static void *read_file(const char *path) {
    static char data[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file || fread(data, 1, sizeof data - 1, file) < 4) exit(5);
    return data;
}

static int nvrtc(const char *name, Handle a, Handle b, Handle c, Handle d) {
    int (*function)(Handle, Handle, Handle, Handle, Handle, Handle) = dlsym(dlopen(words[4], RTLD_NOW), name);
    int code = function(a, b, c, d, 0, 0);
    if (code) printf("%s: %d\n", name, code), exit(6);
    return code;
}
#define NVRTC(name, a, b, c, d) nvrtc(name, (Handle)(a), (Handle)(b), (Handle)(c), (Handle)(d))

static void *compiled(const char *source) {
    static char data[1 << 20], folder[4096];
    const char *options[] = {"--enable-tile", "-std=c++20", "--gpu-architecture=compute_90", folder};
    Handle program;
    snprintf(folder, sizeof folder, "--include-path=%s", words[5]);
    NVRTC("nvrtcCreateProgram", &program, source, "k.cu", 0);
    NVRTC("nvrtcCompileProgram", program, 4, options, 0);
    NVRTC("nvrtcGetTileIR", program, data, 0, 0);
    return data;
}

static void called(void *data) { printf("%s\n", (char *)data); }

static void *run(void *unused) {
    int n = atoi(words[2]), m = atoi(words[3]), device = -1, major = 0;
    Handle context, module, kernel, stream, x, y;
    char name[64];
    CALL("cuInit", 0, 0, 0, 0);
    CALL("cuDeviceGet", &device, 0, 0, 0);
    CALL("cuDeviceGetName", name, sizeof name, device, 0);
    CALL("cuDeviceGetAttribute", &major, 75, device, 0);
    CALL("cuDevicePrimaryCtxRetain", &context, device, 0, 0);
    CALL("cuCtxSetCurrent", context, 0, 0, 0);
    CALL("cuStreamCreate", &stream, 1, 0, 0);
    if (words[4] && words[5]) {
        CALL("cuModuleLoadData", &module, compiled(read_file(words[1])), 0, 0);
        CALL("cuModuleGetFunction", &kernel, module, "axpy", 0);
    } else if (words[4]) {
        char command[4096];
        snprintf(command, sizeof command, "tileiras --gpu-name sm_%d0 -O3 -o %s.cubin %s", major, words[1], words[1]);
        if (system(command)) exit(4);
        snprintf(command, sizeof command, "%s.cubin", words[1]);
        char *image = read_file(command);
        if (memcmp(image, "\x7f" "ELF", 4)) exit(5);
        CALL("cuLibraryLoadData", &module, image, 0, 0);
        CALL("cuLibraryGetKernel", &kernel, module, "axpy", 0);
    } else {
        CALL("cuModuleLoad", &module, words[1], 0, 0);
        CALL("cuModuleGetFunction", &kernel, module, "axpy", 0);
    }
    float *values = malloc(4 * n), a = 2;
    for (int i = 0; i < n; i++) values[i] = i;
    CALL("cuMemAlloc", &x, 4 * n, 0, 0);
    CALL("cuMemAllocAsync", &y, 4 * n, stream, 0);
    CALL("cuMemcpyHtoDAsync", x, values, 4 * n, stream);
    CALL("cuMemsetD32", y, 0x3f800000, n, 0);
    void *parameters[] = {&a, &x, &y, &m};
    struct {
        unsigned grid[3], block[3], shared;
        Handle stream, attributes;
        unsigned count;
    } configuration = {{(m + 127) / 128, 1, 1}, {1, 1, 1}, 0, stream, 0, 0};
    CALL("cuLaunchKernelEx", &configuration, kernel, parameters, 0);
    CALL("cuLaunchHostFunc", stream, called, "after the launch", 0);
    CALL("cuMemcpyDtoHAsync", values, y, 4 * n, stream);
    CALL("cuStreamSynchronize", stream, 0, 0, 0);
    printf("%s: %g %g %g\n", name, values[0], values[1], values[n - 1]);
    CALL("cuMemFree", x, 0, 0, 0);
    return NULL;
}

extern int cuGetProcAddress_v2(const char *, void **, int, Handle, int *);

int main(int count, char **given) {
    words = given;
    if (!words[4]) {
        address_of = cuGetProcAddress_v2;
        run(NULL);
        return 0;
    }
    address_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return 0;
}

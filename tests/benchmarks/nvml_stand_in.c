/* A stand-in for libnvidia-ml.so.1 that plays one scenario, chosen by NVML_SCENARIO.
 *
 * Only what benchmarks/nvml.py asks is here, with the symbols and layouts that pynvml's wrappers
 * use. A "gpu" handle is a pointer into `devices`. Scenarios: two, mig, unsupported, denied, lost,
 * old, foreign, container, throttled, no_driver, broken_counter, hopper (GPM, NVLink and PCIe
 * counters, which the others lack), half_hopper (GPM without its NVLink metrics), mig_hopper (a MIG
 * instance with GPM), over_cap (power above the cap), narrow (PCIe counters of 32 bits).
 */
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, DENIED = 4, NOT_FOUND = 6, SMALL = 7, UNLOADED = 9,
       LOST = 15 };
enum { UNSIGNED_INT = 1, UNSIGNED_LONG_LONG = 3 };
typedef unsigned long long u64;
typedef struct { const char *uuid; int index; int mig; u64 energy_mj; int asked; } device;
typedef struct { u64 total, free, used; } memory_v1;
typedef struct { unsigned version; u64 total, reserved, free, used; } memory_v2;
typedef struct { unsigned gpu, memory; } utilization;
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; } process;
typedef struct { unsigned version, sensor; int temperature; } temperature_v1;
typedef union { double number; unsigned narrow; u64 wide; } value;
typedef struct { unsigned field, scope; long long at, latency; int type, code; value value; } field;
typedef struct { unsigned version, supported; } gpm_support;
typedef struct { int at; } gpm_sample;
typedef struct { unsigned id; int code; double value; const char *info[3]; } gpm_metric;
typedef struct { unsigned version, count; gpm_sample *first, *last; gpm_metric metrics[]; } gpm_get;

static device devices[] = {
    {"GPU-bbbbbbbb-0000-0000-0000-000000000001", 0, 0, 5000000, 0},
    {"GPU-aaaaaaaa-0000-0000-0000-000000000002", 1, 0, 9000000, 0},
    {"MIG-cccccccc-0000-0000-0000-000000000003", 0, 1, 0, 0},
};

static int is(const char *name) {
    const char *scenario = getenv("NVML_SCENARIO");
    return scenario && !strcmp(scenario, name);
}

static int has_migs(void) { return is("mig") || is("mig_hopper"); }

/* What every question about a device comes to before its own answer. */
static int state(device *gpu) {
    if (is("lost") && gpu->index == 1 && ++gpu->asked > 3) return LOST;
    if (is("denied")) return DENIED;
    if (is("unsupported")) return UNSUPPORTED;
    return OK;
}

int nvmlInitWithFlags(unsigned flags) { (void)flags; return is("no_driver") ? UNLOADED : OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "an error of the stand-in"; }

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    strncpy(text, is("old") ? "418.40" : "580.65.06", size);
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **gpu) {
    if (index > 1) return INVALID;
    *gpu = &devices[index];
    return OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, device **gpu) {
    for (int i = 0; i < (has_migs() ? 3 : 2); i++)
        if (!strcmp(uuid, devices[i].uuid)) { *gpu = &devices[i]; return OK; }
    return NOT_FOUND;
}

int nvmlDeviceGetUUID(device *gpu, char *text, unsigned size) {
    strncpy(text, gpu->uuid, size);
    return OK;
}

int nvmlDeviceIsMigDeviceHandle(device *gpu, unsigned *mig) { *mig = gpu->mig; return OK; }

int nvmlDeviceGetMaxMigDeviceCount(device *gpu, unsigned *count) {
    *count = has_migs() && gpu->index == 0 ? 7 : 0;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(device *gpu, unsigned slot, device **mig) {
    if (gpu->index || slot != 2) return NOT_FOUND; /* slots need not be filled from the first */
    *mig = &devices[2];
    return OK;
}

int nvmlDeviceGetUtilizationRates(device *gpu, utilization *out) {
    int bad = state(gpu);
    if (bad) return bad;
    if (gpu->mig) return UNSUPPORTED;
    out->gpu = gpu->index ? 90 : 40;
    out->memory = 11;
    return OK;
}

int nvmlDeviceGetPowerUsage(device *gpu, unsigned *milliwatts) {
    int bad = state(gpu);
    if (bad) return bad;
    if (gpu->mig) return INVALID;
    *milliwatts = is("over_cap") ? 380000 : gpu->index ? 300500 : 100000;
    return OK;
}

int nvmlDeviceGetEnforcedPowerLimit(device *gpu, unsigned *milliwatts) {
    int bad = state(gpu);
    if (bad) return bad;
    *milliwatts = 350000;
    return OK;
}

int nvmlDeviceGetClockInfo(device *gpu, unsigned type, unsigned *mhz) {
    int bad = state(gpu);
    if (bad) return bad;
    *mhz = type == 1 ? 1410 : type == 2 ? 2619 : 99; /* 1 is the SM clock, 2 the memory's */
    return OK;
}

int nvmlDeviceGetTemperature(device *gpu, unsigned sensor, unsigned *celsius) {
    int bad = state(gpu);
    if (bad) return bad;
    *celsius = sensor ? 0 : 61;
    return OK;
}

int nvmlDeviceGetMemoryInfo(device *gpu, memory_v1 *out) {
    int bad = state(gpu);
    if (bad) return bad;
    *out = (memory_v1){80ull << 30, 77ull << 30, 3ull << 30}; /* the driver's own 1 GiB counted in */
    return OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(device *gpu, u64 *bits) {
    int bad = state(gpu);
    if (bad) return bad;
    *bits = is("throttled") ? 0x44 : is("over_cap") ? 0x4 : 0x1;
    return OK;
}

int nvmlDeviceGetPcieThroughput(device *gpu, unsigned counter, unsigned *kilobytes_per_s) {
    int bad = state(gpu);
    if (bad) return bad;
    *kilobytes_per_s = counter ? 7000 : 3000; /* 0 is sent, 1 received */
    return OK;
}

static int fill(device *gpu, unsigned *count, process *out) {
    unsigned room = *count, found = 0;
    int bad = state(gpu);
    if (bad) return bad;
    const char *own = getenv("NVML_OWN_PID");
    process all[2];
    if (own) all[found++] = (process){atoi(own), 2ull << 30, ~0u, ~0u};
    if (is("container")) all[0].pid = 4000001; /* the host's name for it */
    if (is("foreign")) all[found++] = (process){4000002, ~0ull, ~0u, ~0u};
    *count = found;
    if (room < found) return SMALL;
    memcpy(out, all, found * sizeof *out);
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v2(device *gpu, unsigned *count, process *out) {
    return fill(gpu, count, out);
}

#ifndef OLD_DRIVER /* what drivers of 2019 do not export */
int nvmlDeviceGetTotalEnergyConsumption(device *gpu, u64 *millijoules) {
    int bad = state(gpu);
    if (bad) return bad;
    if (gpu->mig) return UNSUPPORTED;
    gpu->energy_mj += is("broken_counter") ? -1000 : 20000;
    *millijoules = gpu->energy_mj;
    return OK;
}

/* Every reading finds that a MB more was sent and 2 MB more received; NVLinks in KiB. */
int nvmlDeviceGetFieldValues(device *gpu, int count, field *out) {
    static u64 asked;
    int bad = state(gpu);
    if (bad) return bad;
    asked++;
    for (int i = 0; i < count; i++) {
        int pcie = out[i].field == 197 || out[i].field == 198;
        int nvlink = (out[i].field == 138 || out[i].field == 139) && out[i].scope == ~0u;
        int there = is("hopper") || is("half_hopper") || (pcie && is("narrow"));
        out[i].code = there && (pcie || nvlink) ? OK : UNSUPPORTED;
        out[i].type = is("narrow") ? UNSIGNED_INT : UNSIGNED_LONG_LONG;
        out[i].value.wide = asked * (i + 1) * (pcie ? 1000000 : 1024);
    }
    return OK;
}

static int has_gpm(void) { return is("hopper") || is("half_hopper") || is("mig_hopper"); }

int nvmlGpmQueryDeviceSupport(device *gpu, gpm_support *out) {
    int bad = state(gpu);
    if (bad) return bad;
    if (gpu->mig) return INVALID; /* it is the whole GPU that can or cannot */
    out->supported = has_gpm();
    return OK;
}

int nvmlGpmSampleAlloc(gpm_sample **out) { return (*out = calloc(1, sizeof **out)) ? OK : 20; }
int nvmlGpmSampleFree(gpm_sample *sample) { free(sample); return OK; }

static int gpm_now;

int nvmlGpmSampleGet(device *gpu, gpm_sample *out) {
    int bad = state(gpu);
    if (bad) return bad;
    if (gpu->mig) return INVALID;
    out->at = ++gpm_now;
    return OK;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device *mig, device **gpu) {
    if (!mig->mig) return INVALID;
    *gpu = &devices[0];
    return OK;
}

int nvmlDeviceGetGpuInstanceId(device *mig, unsigned *id) {
    if (!mig->mig) return INVALID;
    *id = 5;
    return OK;
}

int nvmlGpmMigSampleGet(device *gpu, unsigned instance, gpm_sample *out) {
    if (gpu != &devices[0] || instance != 5) return INVALID;
    out->at = ++gpm_now;
    return OK;
}

/* Percentages are 10 plus the metric's number, rates as many MiB/s as its number. */
int nvmlGpmMetricsGet(gpm_get *get) {
    if (get->version != 1 || get->last->at <= get->first->at) return INVALID;
    for (unsigned i = 0; i < get->count; i++) {
        gpm_metric *metric = &get->metrics[i];
        metric->code = is("half_hopper") && metric->id >= 60 ? UNSUPPORTED : OK;
        metric->value = metric->id < 20 ? 10.0 + metric->id : metric->id;
    }
    return OK;
}

int nvmlDeviceGetTemperatureV(device *gpu, temperature_v1 *out) {
    int bad = state(gpu);
    if (bad) return bad;
    out->temperature = 62;
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(device *gpu, memory_v2 *out) {
    int bad = state(gpu);
    if (bad) return bad;
    out->total = 80ull << 30;
    out->used = 2ull << 30;
    out->reserved = 1ull << 30;
    out->free = 77ull << 30;
    return OK;
}

int nvmlDeviceGetCurrentClocksEventReasons(device *gpu, u64 *bits) {
    return nvmlDeviceGetCurrentClocksThrottleReasons(gpu, bits);
}

int nvmlDeviceGetComputeRunningProcesses_v3(device *gpu, unsigned *count, process *out) {
    return fill(gpu, count, out);
}
#endif

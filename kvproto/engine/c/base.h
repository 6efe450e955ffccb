/* Platform, version, and the words that all parts of the engine share. */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* for madvise and MAP_ANONYMOUS */
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#define KV_POSIX 1
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#else
#define KV_POSIX 0
#endif

/* Raised whenever an exported function, a structure or the meaning of the bytecode changes. */
#define KV_ABI 3
#ifndef KV_SOURCE_HASH
#define KV_SOURCE_HASH "unknown"
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(address) __builtin_prefetch(address)
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() ((void)0)
#endif
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define INLINE static inline
#define PREFETCH(address) ((void)(address))
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#endif

enum { BATCH = 32, EVENTS = 1024, WINDOW_BITS = 8, FEW_SET_WORDS = 2 };
enum { CHUNK_BYTES = 1 << 20, MAX_CHUNK_BITS = 16, FIRST_CHUNKS = 2 };
enum { HOT = 64, WARM = 1, COLD = 4 }; /* costs of por.h, as in stubborn.py */
enum { KEY_ROOM = 2, MAX_WORKERS = 64, RECENT_BITS = 13, RECENT_WORDS = 8 };

#define NO_STATE UINT64_MAX
#define NO_PARENT UINT32_MAX
#define NO_ACTION UINT32_MAX
#define NO_BLOCK UINT32_MAX
#define NOBODY UINT32_MAX
#define FAULTED 0x80000000u /* flag in event.action */
#define SKIPPED 0x40000000u /* another one: the action is put off by the partial-order reduction */

/* What an exported function answers. */
enum { KV_OK = 0, KV_MEMORY = 1, KV_BROKEN = 2 };

/* What one run of a block answers; printed C (tier 2) answers the same. */
enum { NOT_ENABLED, DONE, IS_FAULT, IS_FALSE, IS_TRUE, IS_BROKEN };

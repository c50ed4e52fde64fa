// Answers FIEMAP as another disk would, on which the same files lie elsewhere: blocks are scattered
// by a fixed permutation. To be preloaded (tests/cli/controls.sh).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>

#define BLOCK 4096ULL
#define BLOCKS 16381ULL /* a prime: multiplying permutes the numbers below it */

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list ap;
	void *arg;
	int result;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	result = real(fd, request, arg);
	if (result == 0 && request == FS_IOC_FIEMAP) {
		struct fiemap *map = arg;

		for (unsigned i = 0; i < map->fm_mapped_extents; i++) {
			unsigned long long block = map->fm_extents[i].fe_physical / BLOCK;

			if (block < BLOCKS)
				map->fm_extents[i].fe_physical = block * 7919 % BLOCKS * BLOCK;
		}
	}
	return result;
}

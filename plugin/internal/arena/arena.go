//go:build tinygo

// Package arena is the plugin's memory allocator. A step allocates and never frees.
// Before each later step, Reset restores the memory to its state before the first step.
//
// TinyGo's own collectors slow down every function that holds a pointer, even if
// nothing is ever collected. A step runs for milliseconds and allocates little, so it
// needs no collection (RATIONALE.md has the measurements). With -gc=none the
// program must define runtime.alloc.
package arena

import "unsafe"

//go:extern __global_base
var globalsStart [0]byte

//go:extern __heap_base
var heapStart [0]byte

//export llvm.wasm.memory.size.i32
func memorySize(index int32) int32

//export llvm.wasm.memory.grow.i32
func memoryGrow(index int32, pages int32) int32

const (
	pageSize = 64 << 10
	// growth is the smallest amount by which memory grows. It is small because hosts
	// that reset the memory clear the pages that a step added.
	growth = 4 * pageSize
)

var (
	next  uintptr // the first free byte; 0: nothing has been allocated yet
	end   uintptr // of memory
	dirty uintptr // end of the memory that may be nonzero

	// saved is the address of the snapshot: a copy of the memory from the globals to the
	// first free byte, taken before the first step; 0: not taken yet.
	saved     uintptr
	savedSize uintptr
)

// alloc returns zeroed memory. It is not inlined: inlining it into its many callers made the
// module a sixth larger and no faster.
//
//go:noinline
//go:linkname alloc runtime.alloc
func alloc(size uintptr, _ unsafe.Pointer) unsafe.Pointer {
	size = (size + 7) &^ 7
	p := next
	if size > end-p {
		p = grow(size)
	}
	next = p + size
	if p < dirty {
		zero(p, min(size, dirty-p))
	}
	return unsafe.Pointer(p)
}

//go:linkname realloc runtime.realloc
func realloc(unsafe.Pointer, uintptr) unsafe.Pointer {
	panic("arena: realloc is for C")
}

// grow extends the memory until size bytes are free, and returns their address.
//
//go:noinline
func grow(size uintptr) uintptr {
	if next == 0 {
		next = (uintptr(unsafe.Pointer(&heapStart)) + 7) &^ 7
		end = uintptr(memorySize(0)) * pageSize
		dirty = next
	}
	if size > end-next {
		missing := (size - (end - next) + growth - 1) &^ (growth - 1)
		if missing < size-(end-next) || memoryGrow(0, int32(missing/pageSize)) < 0 {
			panic("arena: out of memory")
		}
		end += missing
	}
	return next
}

func zero(p, n uintptr) {
	clear(unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
}

// Reset restores the memory to its state at the first Reset. The caller must not
// use memory that was allocated after the first Reset.
//
//go:noinline
func Reset() {
	start := uintptr(unsafe.Pointer(&globalsStart))
	if saved == 0 {
		size := next - start
		if next == 0 {
			size = uintptr(unsafe.Pointer(&heapStart)) - start
		}
		p := uintptr(alloc(size, nil))
		// The snapshot contains these two variables as well.
		saved, savedSize = p, p-start
		copyBytes(saved, start, savedSize)
		return
	}
	// Copying the snapshot overwrites these variables, which the compiler does not know.
	first, used, size := saved+savedSize, max(next, dirty), end
	copyBytes(start, saved, savedSize)
	next, dirty, end = first, used, size
}

func copyBytes(to, from, n uintptr) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(to)), n), unsafe.Slice((*byte)(unsafe.Pointer(from)), n))
}

//go:build tinygo

// Package arena is the plugin's memory: a step takes from it and gives nothing
// back, and the next step finds it as it was before the first.
//
// TinyGo's own collectors cost every function that holds a pointer, whether or not
// there is anything to collect. A step lives for milliseconds and allocates little,
// so that nothing at all needs to be collected in it (RATIONALE.md has the
// measurements). With -gc=none TinyGo leaves runtime.alloc to the program.
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
	// growth is the least by which memory grows. Hosts that restore memory clear
	// what a step has grown, so that it must not be much.
	growth = 4 * pageSize
)

var (
	next  uintptr // the first free byte; 0: nothing has been allocated yet
	end   uintptr // of memory
	dirty uintptr // what lies at it and beyond is zero

	// saved is a copy of everything from the globals to the first free byte, as they
	// were before the first step; 0: there was none yet.
	saved     uintptr
	savedSize uintptr
)

// alloc is called from everywhere: inlined, it makes the module a sixth larger and
// no faster.
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

// grow makes room for size bytes and returns where.
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

// Reset makes memory what it was at the first Reset. What was allocated since must
// not be used any more.
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
		// The copy holds these too.
		saved, savedSize = p, p-start
		copyBytes(saved, start, savedSize)
		return
	}
	// The compiler does not expect these to change by the copy.
	first, used, size := saved+savedSize, max(next, dirty), end
	copyBytes(start, saved, savedSize)
	next, dirty, end = first, used, size
}

func copyBytes(to, from, n uintptr) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(to)), n), unsafe.Slice((*byte)(unsafe.Pointer(from)), n))
}

//go:build wasm

package runtime

import (
	"fmt"
	"runtime"
	"unsafe"
)

type Handle struct {
	value int32
}

func (h *Handle) Use() int32 {
	if h.value == 0 {
		panic("nil handle")
	}
	return h.value
}

func (h *Handle) Take() int32 {
	if h.value == 0 {
		panic("nil handle")
	}
	value := h.value
	h.value = 0
	return value
}

func (h *Handle) Set(value int32) {
	if value == 0 {
		panic("nil handle")
	}
	if h.value != 0 {
		panic("handle already set")
	}
	h.value = value
}

func (h *Handle) TakeOrNil() int32 {
	value := h.value
	h.value = 0
	return value
}

func MakeHandle(value int32) *Handle {
	if value == 0 {
		panic("nil handle")
	}
	return &Handle{value}
}

func Allocate(pinner *runtime.Pinner, size, align uintptr) unsafe.Pointer {
	refill()
	pointer := allocateRaw(size, align)
	pinner.Pin(pointer)
	return pointer
}

func allocateRaw(size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}

	if size%align != 0 {
		panic(fmt.Sprintf("size %v is not compatible with alignment %v", size, align))
	}

	switch align {
	case 1:
		return unsafe.Pointer(unsafe.SliceData(make([]uint8, size)))
	case 2:
		return unsafe.Pointer(unsafe.SliceData(make([]uint16, size/align)))
	case 4:
		return unsafe.Pointer(unsafe.SliceData(make([]uint32, size/align)))
	case 8:
		return unsafe.Pointer(unsafe.SliceData(make([]uint64, size/align)))
	default:
		panic(fmt.Sprintf("unsupported alignment: %v", align))
	}
}

// What follows is not of the original: see README.md beside this package's folder.

// The linker has to be told (-checklinkname=0) that this function of Go's own is meant.
//
//go:linkname sbrk runtime.sbrk
func sbrk(n uintptr) unsafe.Pointer

const minChunk = 64 << 10

// Memory for the host is carved out of a chunk that was made while calling imports, and so
// Go's allocator, was allowed.
var (
	chunk = make([]byte, minChunk)
	// Bytes of the chunk that are given away.
	used uintptr
	// Bytes asked for since the last refill, and about the most that lately were.
	asked uintptr
	peak  uintptr = minChunk / 4
	// The host's answer lies in the chunk, and nothing but numbers point to it yet.
	lifting bool
)

// Lift calls an import that answers with memory, and turns that into Go's values. The chunk
// stays while it does, though another goroutine may run in between; one at a time may lift.
func Lift[T any](call func() T) T {
	refill()
	lifting = true
	answer := call()
	lifting = false
	return answer
}

// Unpin is called by generated code once it has lifted the parameters of an export.
func Unpin() { refill() }

// A new chunk if the old one may not do. It runs only where imports may be called.
func refill() {
	if lifting {
		return
	}
	peak = max(asked, peak-peak/8, minChunk/4)
	asked = 0
	if uintptr(len(chunk))-used < peak {
		chunk = make([]byte, peak+minChunk)
		used = 0
	}
}

func offset(pointer, align uintptr) uintptr {
	return (pointer+align-1)&^(align-1) - pointer
}

// Neither allocates nor calls an import: the host is in the middle of a call.
//
//go:wasmexport cabi_realloc
func cabiRealloc(oldPointer unsafe.Pointer, oldSize, align, newSize uintptr) unsafe.Pointer {
	if oldPointer != nil || oldSize != 0 {
		panic("the host grew memory that it was given")
	}
	if newSize == 0 {
		return unsafe.Pointer(align)
	}
	asked += newSize + align
	base := uintptr(unsafe.Pointer(unsafe.SliceData(chunk)))
	if start := used + offset(base+used, align); start+newSize <= uintptr(len(chunk)) {
		used = start + newSize
		return unsafe.Add(unsafe.Pointer(unsafe.SliceData(chunk)), start)
	}
	// Also before Go itself has started, when there is no chunk.
	pages := sbrk(newSize + align)
	return unsafe.Add(pages, offset(uintptr(pages), align))
}

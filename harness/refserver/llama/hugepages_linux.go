package llama

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of a huge page on amd64, and on arm64 with pages of 4 KiB.
const hugePage = 2 << 20

// wantHugePages asks the kernel to back data by huge pages. Attention reads the
// cache block by block all over memory: with pages of 4 KiB nearly each block
// begins with a miss of the TLB, and gathering ran at 5 GB/s instead of 7. Most
// distributions set transparent huge pages to "madvise", so one has to ask.
//
// A kernel that refuses costs speed and nothing else, so its error is ignored.
func wantHugePages(data []float32) {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	from := (hugePage - lo%hugePage) % hugePage / 4
	to := len(data) - int((lo+uintptr(len(data))*4)%hugePage/4)
	if int(from) >= to {
		return // not one whole huge page
	}
	part := data[from:to]
	_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(&part[0])), len(part)*4), syscall.MADV_HUGEPAGE)
}

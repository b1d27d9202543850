package instance

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restorer is a memory, and a way to make it what it was.
type restorer struct {
	name    string
	buf     []byte
	restore func()
}

// BenchmarkRestore compares restoring by copying, which is what memory does, with
// mapping the image copy-on-write and dropping the pages that were written. What a
// step pays is the restoring and the faults of the pages that it touches, so that
// the touching is measured too.
func BenchmarkRestore(b *testing.B) {
	page := os.Getpagesize()
	for _, snapshot := range []struct {
		name     string
		size     int
		from, to int // of its data
	}{
		{"192 KiB, the plugin's", 192 << 10, 64 << 10, 138 << 10},
		{"256 KiB", 256 << 10, 64 << 10, 192 << 10},
		{"1 MiB", 1 << 20, 64 << 10, 768 << 10},
		{"4 MiB", 4 << 20, 64 << 10, 3 << 20},
	} {
		content := make([]byte, snapshot.size)
		for i := snapshot.from; i < snapshot.to; i++ {
			content[i] = byte(i%251) + 1
		}
		for _, pages := range []int{8, snapshot.size / page} {
			touched := fmt.Sprint(pages, " pages touched")
			if pages == snapshot.size/page {
				touched = "everything touched"
			}
			var copying time.Duration
			for _, r := range []restorer{copySnapshot(content), dropPages(b, content), remap(b, content)} {
				b.Run(snapshot.name+"/"+touched+"/"+r.name, func(b *testing.B) {
					for b.Loop() {
						for i := range pages {
							r.buf[i*(snapshot.size/pages)]++
						}
						r.restore()
					}
					if !bytes.Equal(r.buf, content) {
						b.Error("the memory is not what it was")
					}
					each := b.Elapsed() / time.Duration(b.N)
					if r.name == "copying" {
						copying = each
					} else if copying > 0 {
						b.ReportMetric(float64(each)/float64(copying), "x-copying")
					}
				})
			}
		}
	}
}

func copySnapshot(content []byte) restorer {
	m := &memory{limit: uint64(len(content))}
	copy(m.Reallocate(uint64(len(content))), content)
	i := m.snapshot()
	return restorer{"copying", m.buf, func() { m.restore(i, nil) }}
}

// dropPages maps the image privately; dropping the pages that were written brings
// back the file's.
func dropPages(b *testing.B, content []byte) restorer {
	buf, err := unix.Mmap(snapshotFile(b, content), 0, len(content), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Munmap(buf) })
	return restorer{"copy-on-write, pages dropped", buf, func() {
		if err := unix.Madvise(buf, unix.MADV_DONTNEED); err != nil {
			b.Fatal(err)
		}
	}}
}

// mapAgain maps the image anew over what was mapped.
func remap(b *testing.B, content []byte) restorer {
	file := snapshotFile(b, content)
	buf, err := unix.Mmap(file, 0, len(content), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Munmap(buf) })
	at := unsafe.Pointer(unsafe.SliceData(buf))
	return restorer{"copy-on-write, mapped again", buf, func() {
		if _, err := unix.MmapPtr(file, 0, at, uintptr(len(buf)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED); err != nil {
			b.Fatal(err)
		}
	}}
}

// imageFile is a file without a name that holds the image.
func snapshotFile(b *testing.B, content []byte) int {
	file, err := unix.MemfdCreate("image", unix.MFD_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Close(file) })
	if _, err := unix.Write(file, content); err != nil {
		b.Fatal(err)
	}
	return file
}

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

// restorer is a memory and a function that restores its initial content.
type restorer struct {
	name    string
	buf     []byte
	restore func()
}

// BenchmarkRestore compares memory.restore, which copies, with two copy-on-write
// mappings of the snapshot. It also measures the writes, because with a mapping they
// cause page faults.
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
						b.Error("the memory differs from the snapshot")
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
	saved := m.snapshot()
	return restorer{"copying", m.buf, func() { m.restore(saved, nil) }}
}

// dropPages maps the snapshot with MAP_PRIVATE and restores it by dropping the written
// pages.
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

// remap maps the snapshot with MAP_PRIVATE and restores it by mapping it again at the
// same address.
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

// snapshotFile returns an anonymous file with the content.
func snapshotFile(b *testing.B, content []byte) int {
	file, err := unix.MemfdCreate("snapshot", unix.MFD_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Close(file) })
	if _, err := unix.Write(file, content); err != nil {
		b.Fatal(err)
	}
	return file
}

package importer

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/store"
)

// measureHeap imports the directory into a store that discards messages, and returns
// the maximum growth of the heap, measured at commits and at progress reports.
func measureHeap(t *testing.T, dir string) (peak uint64, m *memory, r *Report) {
	t.Helper()
	m = newMemory()
	m.discard = true
	runtime.GC()
	var start, now runtime.MemStats
	runtime.ReadMemStats(&start)
	measure := func() {
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapAlloc-min(now.HeapAlloc, start.HeapAlloc))
	}
	m.onLoad = func(int) { measure() }
	r, err := Import(context.Background(), dir, m, &Options{Progress: func(Progress) { measure() }})
	if err != nil {
		t.Fatal(err)
	}
	return peak, m, r
}

// writeTranscript writes a state directory with one session and its transcript.
func writeTranscript(t *testing.T, write func(w *bufio.Writer)) string {
	t.Helper()
	dir := build(t, oneSession())
	f, err := os.Create(filepath.Join(dir, "agents/main/sessions/s1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	if _, err := w.WriteString(header("s1")); err != nil {
		t.Fatal(err)
	}
	write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

const largeSize = 100 << 20

// TestMemoryOfLongLine: a line of 100 MB is imported completely; memory grows by a few
// times its size.
func TestMemoryOfLongLine(t *testing.T) {
	if testing.Short() {
		t.Log("with -short the line has 20 MB")
	}
	size := largeSize
	if testing.Short() {
		size = 20 << 20
	}
	chunk := strings.Repeat("0123456789abcdef", 4096)
	dir := writeTranscript(t, func(w *bufio.Writer) {
		fmt.Fprint(w, `{"type":"message","id":"big","message":{"role":"toolResult","content":"`)
		for n := 0; n < size; n += len(chunk) {
			fmt.Fprint(w, chunk)
		}
		fmt.Fprint(w, "\"}}\n", messageLine("small", "user", "after it"))
	})
	peak, m, r := measureHeap(t, dir)
	if r.Messages.Inserted != 2 || m.bytes < int64(size) {
		t.Fatalf("%v, %d bytes: %+v", r.Messages, m.bytes, r.Problems)
	}
	if peak > 5*uint64(size) {
		t.Errorf("the heap grew by %d MB for a line of %d MB", peak>>20, size>>20)
	}
	t.Logf("heap +%d MB for a line of %d MB", peak>>20, size>>20)
}

// TestMemoryOfLongTranscript: a transcript of 100 MB needs no more memory than a few
// batches.
func TestMemoryOfLongTranscript(t *testing.T) {
	text := strings.Repeat("All work and no play. ", 100)
	n := largeSize / len(text)
	if testing.Short() {
		n /= 5
	}
	dir := writeTranscript(t, func(w *bufio.Writer) {
		for i := range n {
			fmt.Fprint(w, messageLine(fmt.Sprint("m", i), "user", text))
		}
	})
	peak, m, r := measureHeap(t, dir)
	if r.Messages.Inserted != n {
		t.Fatalf("%v, want %d", r.Messages, n)
	}
	if limit := uint64(8 * maxBatchBytes); peak > limit {
		t.Errorf("the heap grew by %d MB, more than %d MB", peak>>20, limit>>20)
	}
	t.Logf("heap +%d MB for %d MB in %d commits", peak>>20, m.bytes>>20, m.loads)
}

// BenchmarkImport compares the first import of a store with many sessions with a
// repeated import of the unchanged store.
func BenchmarkImport(b *testing.B) {
	const sessions, messages = 1000, 20
	f := files{}
	var entries []string
	text := strings.Repeat("some words to say ", 30)
	for i := range sessions {
		id := fmt.Sprintf("s%d", i)
		entries = append(entries, fmt.Sprintf(`"agent:main:cron:%s":{"sessionId":"%s","updatedAt":%d,"skillsSnapshot":{"prompt":"%s"}}`, id, id, i+1, text))
		var lines strings.Builder
		for j := range messages {
			lines.WriteString(messageLine(fmt.Sprint(j), "user", text))
		}
		f["agents/main/sessions/"+id+".jsonl"] = header(id) + lines.String()
	}
	f[mainStore] = "{" + strings.Join(entries, ",\n") + "}"
	dir := build(b, f)
	run := func(b *testing.B, into store.Loader) {
		r, err := Import(context.Background(), dir, into, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(r.Bytes)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			run(b, newMemory())
		}
	})
	b.Run("again", func(b *testing.B) {
		m := newMemory()
		run(b, m)
		for b.Loop() {
			run(b, m)
		}
	})
}

package importer

import "time"

// Progress is the progress of an import. Total is the size of the stores and of the
// transcripts to which entries refer; Done includes unchanged files.
type Progress struct {
	Done, Total int64 // bytes
	Sessions    int   // stored or unchanged so far
	Messages    int   // stored or unchanged so far
	File        string
}

const progressInterval = 100 * time.Millisecond

// meter reports progress at most once per interval, and once at the end.
type meter struct {
	Progress
	report   func(Progress)
	interval time.Duration
	now      func() time.Time
	last     time.Time
}

func (m *meter) add(bytes int64) {
	m.Done += bytes
	if m.report == nil {
		return
	}
	if now := m.now(); now.Sub(m.last) >= m.interval {
		m.last = now
		m.report(m.Progress)
	}
}

func (m *meter) finish() {
	if m.report != nil {
		m.File = ""
		m.report(m.Progress)
	}
}

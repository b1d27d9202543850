package importer

import "time"

// Progress is how far an import is. Total is what the stores and transcripts
// weigh that entries name; files that are not read again count as done.
type Progress struct {
	Done, Total int64 // bytes
	Sessions    int   // stored so far
	Messages    int   // stored or met again so far
	File        string
}

const progressEvery = 100 * time.Millisecond

// meter passes progress on, at most once in every, and once at the end.
type meter struct {
	Progress
	report func(Progress)
	every  time.Duration
	now    func() time.Time
	last   time.Time
}

func (m *meter) add(bytes int64) {
	m.Done += bytes
	if m.report == nil {
		return
	}
	if now := m.now(); now.Sub(m.last) >= m.every {
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

package terminal

import (
	"fmt"
	"strings"
	"time"
)

const barWidth = 24

// Progress shows a progress bar on one line of a terminal. On other outputs it shows
// nothing.
type Progress struct {
	out   *Output
	start time.Time
	now   func() time.Time
	shown bool
}

// NewProgress returns a Progress and starts the clock for the rate.
func (o *Output) NewProgress() *Progress {
	return &Progress{out: o, start: time.Now(), now: time.Now}
}

// Bytes shows done and total bytes, the rate since the start, and a note.
func (p *Progress) Bytes(done, total int64, note string) {
	line := Size(done) + " of " + Size(total)
	if s := p.now().Sub(p.start).Seconds(); s >= 0.5 {
		line += fmt.Sprintf("  %s/s", Size(int64(float64(done)/s)))
	}
	p.bar(done, total, line+"  "+note)
}

// Items shows done and total items. In the first second it shows nothing.
func (p *Progress) Items(done, total int, thing string) {
	if p.shown || p.now().Sub(p.start) > time.Second {
		p.bar(int64(done), int64(total), Count(int64(done))+" of "+Plural(total, thing))
	}
}

func (p *Progress) bar(done, total int64, text string) {
	if !p.out.terminal {
		return
	}
	part := 1.0
	if total > 0 {
		part = min(float64(done)/float64(total), 1)
	}
	full := int(part * barWidth)
	line := fmt.Sprintf("%s%s %3.0f %%  %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), part*100, text)
	p.out.Printf("\r\x1b[K%s", p.out.Fit(line, 1))
	p.shown = true
}

// Clear removes the progress bar.
func (p *Progress) Clear() {
	if p.shown {
		p.out.Printf("\r\x1b[K")
		p.shown = false
	}
}

// Size formats a number of bytes with a decimal unit.
func Size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1000, 0
	for f >= 999.5 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, units[i])
	}
	return fmt.Sprintf("%.0f %cB", f, units[i])
}

// Count formats a number with thousands separators.
func Count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural formats a number of items with the noun's plural if necessary.
func Plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(int64(n)) + " " + thing
}

// Age formats an elapsed time in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "in the future"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// Package terminal formats output for people: tables, progress bars and colours on a
// terminal, plain text elsewhere. Callers must pass untrusted text through Line or
// Text first, so that a stored message cannot move the cursor, change colours or
// imitate Parley's own output.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// Output is a command's output for people. It is not safe for concurrent use.
type Output struct {
	w        io.Writer
	terminal bool
	color    bool
	width    int // columns; 0 = no limit
}

// New returns an Output for w and detects whether w is a terminal. Colours need a
// terminal and are off with NO_COLOR or TERM=dumb; COLUMNS overrides the terminal's
// width.
func New(w io.Writer, getenv func(string) string) *Output {
	o := &Output{w: w}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return o
	}
	o.terminal, o.width = true, 80
	o.color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		o.width = width
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		o.width = n
	}
	return o
}

// To returns an Output with the same properties that writes to w.
func (o *Output) To(w io.Writer) *Output {
	to := *o
	to.w = w
	return &to
}

// Write writes bytes unchanged.
func (o *Output) Write(p []byte) (int, error) { return o.w.Write(p) }

// Printf writes formatted text.
func (o *Output) Printf(format string, args ...any) { fmt.Fprintf(o.w, format, args...) }

// Println writes a line.
func (o *Output) Println(args ...any) { fmt.Fprintln(o.w, args...) }

// Text styles. They use the terminal's own colours, which suit its background.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	accent = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// Bold, Faint, Good, Bad and Accent style one line of text if colours are on.
func (o *Output) Bold(s string) string   { return o.style(bold, s) }
func (o *Output) Faint(s string) string  { return o.style(faint, s) }
func (o *Output) Good(s string) string   { return o.style(green, s) }
func (o *Output) Bad(s string) string    { return o.style(red, s) }
func (o *Output) Accent(s string) string { return o.style(accent, s) }

func (o *Output) style(s lipgloss.Style, text string) string {
	if !o.color || text == "" {
		return text
	}
	return s.Render(text)
}

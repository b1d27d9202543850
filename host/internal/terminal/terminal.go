// Package terminal writes for people: tables, progress and colours on a
// terminal, the same text plain elsewhere. Whatever was written by others goes
// through Line or Text first, so that no stored message can move the cursor,
// change colours or pretend to be ours.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// Output is where a command writes for people. It is for one goroutine.
type Output struct {
	w        io.Writer
	terminal bool
	color    bool
	width    int // columns; 0 = no limit
}

// New looks at what w is. Colours need a terminal and are off with NO_COLOR or
// TERM=dumb; COLUMNS overrides the terminal's width.
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

// To returns an Output that writes to w what this one would.
func (o *Output) To(w io.Writer) *Output {
	to := *o
	to.w = w
	return &to
}

// Write writes bytes as they are.
func (o *Output) Write(p []byte) (int, error) { return o.w.Write(p) }

// Printf writes formatted text.
func (o *Output) Printf(format string, args ...any) { fmt.Fprintf(o.w, format, args...) }

// Println writes a line.
func (o *Output) Println(args ...any) { fmt.Fprintln(o.w, args...) }

// Styles of text. The colours are the terminal's own, so that they suit its
// background.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	accent = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// Bold, Faint, Good, Bad and Accent style one line of text, where there are
// colours.
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

package terminal

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// gap is the space between columns.
const gap = 2

// Table writes rows below headers. On a terminal it truncates the widest columns so
// that rows fit; other outputs receive the full text. The caller must pass each cell
// through Line.
func (o *Output) Table(headers []string, rows [][]string) {
	if o.width > 0 {
		rows = fit(headers, rows, o.width)
	}
	t := table.New().Headers(headers...).Rows(rows...).Wrap(false).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderHeader(o.terminal).BorderColumn(false).
		StyleFunc(func(row, col int) lipgloss.Style {
			s := lipgloss.NewStyle()
			if col < len(headers)-1 {
				s = s.PaddingRight(gap)
			}
			if row == table.HeaderRow && o.color {
				s = s.Bold(true)
			}
			return s
		})
	if o.color {
		t.BorderStyle(faint)
	}
	text := t.String()
	for line := range strings.SplitSeq(text, "\n") {
		o.Println(strings.TrimRight(line, " "))
	}
}

// minTruncated is the minimum width of a truncated column, unless its header is wider.
const minTruncated = 8

// fit truncates the widest columns until rows fit the width or no column can be
// truncated further. Short columns, such as states and numbers, stay complete. On a
// terminal that is too narrow for that, lines wrap.
func fit(headers []string, rows [][]string, width int) [][]string {
	widths, least := make([]int, len(headers)), make([]int, len(headers))
	total := gap * (len(headers) - 1)
	for c := range headers {
		widths[c] = lipgloss.Width(headers[c])
		least[c] = max(widths[c], minTruncated)
		for _, row := range rows {
			widths[c] = max(widths[c], lipgloss.Width(row[c]))
		}
		total += widths[c]
	}
	for ; total > width; total-- {
		widest := -1
		for c := range widths {
			if widths[c] > least[c] && (widest < 0 || widths[c] > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	fitted := make([][]string, len(rows))
	for i, row := range rows {
		fitted[i] = make([]string, len(row))
		for c := range row {
			fitted[i][c] = Truncate(row[c], widths[c])
		}
	}
	return fitted
}

// Fields writes names and values in two columns, indented by two spaces. It omits
// fields without a value.
func (o *Output) Fields(fields ...[2]string) {
	fields = slices.DeleteFunc(fields, func(f [2]string) bool { return f[1] == "" })
	width := 0
	for _, f := range fields {
		width = max(width, lipgloss.Width(f[0]))
	}
	for _, f := range fields {
		pad := strings.Repeat(" ", width-lipgloss.Width(f[0])+gap)
		for i, line := range strings.Split(f[1], "\n") {
			if i == 0 {
				o.Println("  " + o.Faint(f[0]) + pad + line)
			} else {
				o.Println(strings.Repeat(" ", 2+width+gap) + line)
			}
		}
	}
}

// Fit truncates one line of safe text to the terminal's width minus used columns.
func (o *Output) Fit(s string, used int) string {
	if o.width == 0 {
		return s
	}
	return Truncate(s, max(o.width-used, 1))
}

// Truncate truncates safe text to a number of columns; a truncated text ends in "…".
func Truncate(s string, columns int) string {
	if lipgloss.Width(s) <= columns {
		return s
	}
	if columns <= 1 {
		return "…" // a MaxWidth of 0 means no limit
	}
	return lipgloss.NewStyle().MaxWidth(columns-1).Inline(true).Render(s) + "…"
}

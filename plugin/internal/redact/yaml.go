package redact

// maxIndent is how far the value of a YAML key may be indented.
const maxIndent = 64

// nextLine returns where the value of a YAML key on the line below it starts, or
// v, and whether it is a block, behind | or >.
func nextLine(text string, v int) (first int, block bool) {
	i := v
	if i < len(text) && (text[i] == '|' || text[i] == '>') {
		block = true
		i = skipSpace(text, (hyphen|plus|digit).spanMax(text, i+1, 2))
	}
	if i < len(text) && text[i] == '\r' {
		i++
	}
	if i >= len(text) || text[i] != '\n' {
		return v, false
	}
	i++
	if n := indent(text, i); n > 0 && n < maxIndent {
		return i + n, block
	}
	return v, false
}

func indent(text string, i int) int { return space.spanMax(text, i, maxIndent) - i }

// scalar reports whether text[v:end] is all there is on its line, and neither a
// key nor an item.
func scalar(text string, v, end int) bool {
	if v >= end || text[end-1] == ':' || text[v] == '#' || text[v] == '-' {
		return false
	}
	end = skipSpace(text, (quote|backslash|comma).spanMax(text, end, maxEscapes+2))
	return end == len(text) || eol.has(text[end])
}

// block matches a block whose first line starts at v, if that is a credential.
func (c candidate) block(text string, v int) Match {
	end := eol.until(text, v)
	c.value, c.quoted = text[v:end], true
	if opensReference(c.value) || !judge(c).found() {
		return Match{}
	}
	width := v - space.back(text, v, v)
	for end < len(text) {
		next := end + 1
		if text[end] == '\r' && next < len(text) && text[next] == '\n' {
			next++
		}
		stop := eol.until(text, next)
		if stop > next && indent(text, next) < width {
			break
		}
		end = stop
	}
	return Match{Start: v, End: (space | control).back(text, end, end-v), hidden: true}
}

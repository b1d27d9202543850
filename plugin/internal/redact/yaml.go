package redact

// maxIndent bounds the indentation of the value of a YAML key.
const maxIndent = 64

// nextLine returns the index of a YAML value on the line below its key, or v if there is
// none, and whether it is a block scalar, after | or >.
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

// scalar reports whether text[v:end] is the only text on its line, and neither a key nor a
// list item.
func scalar(text string, v, end int) bool {
	if v >= end || text[end-1] == ':' || text[v] == '#' || text[v] == '-' {
		return false
	}
	end = skipSpace(text, (quote|backslash|comma).spanMax(text, end, maxEscapes+2))
	return end == len(text) || eol.has(text[end])
}

// block matches a block scalar whose first line starts at v, if it is a credential.
func (c assigned) block(text string, v int) Match {
	end := eol.until(text, v)
	c.value, c.quoted = text[v:end], true
	if opensReference(c.value) || !credentialIn(c).found() {
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

package redact

// maxIndent is how far the value of a YAML key may be indented.
const maxIndent = 64

// nextLine returns where the value of a YAML key on the line below it starts, or
// v, and whether it is a block, behind | or >.
func nextLine(text string, v int) (first int, block bool) {
	i := v
	if i < len(text) && (text[i] == '|' || text[i] == '>') {
		block = true
		for i++; i < len(text) && i-v < 3 && (text[i] == '-' || text[i] == '+' || digit(text[i])); i++ {
		}
		i = skipSpace(text, i)
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

func indent(text string, i int) (n int) {
	for i+n < len(text) && n < maxIndent && text[i+n] == ' ' {
		n++
	}
	return n
}

// scalar reports whether text[v:end] is all there is on its line, and neither a
// key nor an item.
func scalar(text string, v, end int) bool {
	if v >= end || text[end-1] == ':' || text[v] == '#' || text[v] == '-' {
		return false
	}
	for n := 0; n < maxEscapes+2 && end < len(text) && (quoteByte(text[end]) || text[end] == '\\' || text[end] == ','); n++ {
		end++
	}
	end = skipSpace(text, end)
	return end == len(text) || text[end] == '\n' || text[end] == '\r'
}

// block matches a block whose first line starts at v, if that is a credential.
func (c candidate) block(text string, v int) (Match, bool) {
	end := lineStop(text, v)
	c.value, c.quoted = text[v:end], true
	if opensReference(c.value) {
		return Match{}, false
	}
	m, ok := judge(c)
	if !ok {
		return m, false
	}
	width := 0
	for v-width > 0 && text[v-width-1] == ' ' {
		width++
	}
	for end < len(text) {
		next := end + 1
		if text[end] == '\r' && next < len(text) && text[next] == '\n' {
			next++
		}
		stop := lineStop(text, next)
		if stop > next && indent(text, next) < width {
			break
		}
		if end = stop; stop == len(text) {
			break
		}
	}
	for end > v && text[end-1] <= ' ' {
		end--
	}
	return Match{Start: v, End: end, hidden: true}, true
}

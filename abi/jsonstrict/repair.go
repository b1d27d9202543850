package jsonstrict

const replacement = "\uFFFD"

// repair is the output of a walker that repairs.
type repair struct {
	Report
	out    []byte
	base   int // the output starts at out[base]
	copied int // the document up to this byte is in out, repaired
	name   int // start in the output of the member name that is being read
}

// len returns the length of the output.
func (f *repair) len() int { return len(f.out) - f.base }

// copy appends the rest of the document up to byte end to the output.
func (f *repair) copy(doc []byte, end int) {
	f.out = append(f.out, doc[f.copied:end]...)
	f.copied = end
}

// begin records in f.name where a name starts in the output. Its opening quote is at byte
// quote of the document. After a repair within the name begin does nothing, because an
// earlier call has recorded the start.
func (f *repair) begin(doc []byte, quote int) {
	if f.copied <= quote {
		f.copy(doc, quote)
		f.name = f.len()
	}
}

// replace appends text to the output instead of the document's bytes [start, end).
func (f *repair) replace(doc []byte, start, end int, text string) {
	f.copy(doc, start)
	f.out = append(f.out, text...)
	f.copied = end
}

// compact removes dropped members from the innermost object, which is the end of the
// output. names holds all names of the object, in order. A dropped member is removed up to
// the next name, which exists because the last member is never dropped.
func (f *repair) compact(names []name) {
	text := f.out[f.base:]
	to := names[0].start - 1
	for i, n := range names {
		start, end := n.start-1, uint32(len(text))
		if i+1 < len(names) {
			end = names[i+1].start - 1
		}
		if n.size != dropped {
			to += uint32(copy(text[to:], text[start:end]))
		}
	}
	f.out = f.out[:f.base+int(to)]
}

// repair repairs the problem at which next stopped, and reports whether it could.
func (w *walker) repair(e event) bool {
	f, doc := w.fix, w.doc
	if w.state == inString && w.naming {
		f.begin(doc, w.start)
	}
	switch e {
	case invalidUTF8:
		f.UTF8++
		f.replace(doc, w.i, w.i+1, replacement)
		w.i++
	case loneSurrogate:
		f.Surrogates++
		f.replace(doc, w.i, w.i+len(`\u0000`), replacement)
		w.i += len(`\u0000`)
	case rawControl:
		f.Controls++
		f.replace(doc, w.i, w.i+1, controlEscape(doc[w.i]))
		w.escapes = true
		w.i++
	case bigNumber:
		f.Numbers++
		f.replace(doc, w.start, w.start, `"`)
		f.replace(doc, w.i, w.i, `"`)
	default:
		return false
	}
	return true
}

// controlEscape returns the escape of a control character.
func controlEscape(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return `\u00` + hexByte(c)
}

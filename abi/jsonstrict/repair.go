package jsonstrict

const replacement = "\uFFFD"

// repair is the output of a walk that repairs.
type repair struct {
	Report
	out    []byte
	base   int // the output starts at out[base]
	copied int // the document before this byte is in out, repaired
	name   int // where the member name that is being read starts in the output
}

// len is the length of the output.
func (f *repair) len() int { return len(f.out) - f.base }

// copy brings the document up to byte end into the output.
func (f *repair) copy(doc []byte, end int) {
	f.out = append(f.out, doc[f.copied:end]...)
	f.copied = end
}

// begin notes where in the output the name starts whose quote is at byte quote,
// unless a repair within the name has done so.
func (f *repair) begin(doc []byte, quote int) {
	if f.copied <= quote {
		f.copy(doc, quote)
		f.name = f.len()
	}
}

// replace puts text into the output in place of the document's [start, end).
func (f *repair) replace(doc []byte, start, end int, text string) {
	f.copy(doc, start)
	f.out = append(f.out, text...)
	f.copied = end
}

// compact takes the dropped members of the object that ends here out of the
// output. names are all of the object's, in order. A dropped member goes with
// everything up to the next name: the last member is never dropped.
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

// repair repairs what next stopped at and reports whether that could be done.
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

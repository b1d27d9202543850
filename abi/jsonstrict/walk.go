package jsonstrict

import "github.com/parley-wasm/parley/abi"

// walker reads one document from start to end. If fix is set, it repairs problems where
// possible; otherwise the first problem ends the walk.
//
// Neither next nor any function that it calls allocates memory. TinyGo's garbage
// collector makes every function that may allocate maintain a list of its pointers,
// which takes longer than reading the document. So next returns an event where memory
// may be needed, and document handles the event.
type walker struct {
	doc    []byte
	i      int // next byte to read
	state  state
	levels int // nesting allowed
	depth  int // arrays and objects that are open
	open   [abi.MaxDepth]level
	names  []name // member names of all open objects, outermost first
	plain  [2][]byte
	fix    *repair

	start   int    // start of the string or number that is being read
	naming  bool   // the string is a member's name
	escapes bool   // the string has escapes
	reason  string // details of wrong and unexpected
}

// state is the syntactic position of the walker.
type state uint8

const (
	beforeValue state = iota
	inString
	afterName
	afterValue
)

// event is the reason why next returns.
type event uint8

const (
	none       event = iota
	done             // the document has been read
	nameRead         // a member's name has been read and needs a full check
	objectRead       // the brace at walker.i ends an object whose names need a full check

	// Problems without a repair, at walker.i.
	wrong
	unexpected
	tooDeep

	// Problems with a repair.
	invalidUTF8   // the byte at walker.i
	loneSurrogate // the escape at walker.i
	rawControl    // the byte at walker.i
	bigNumber     // from walker.start to walker.i
)

// level is an open array or object.
type level struct {
	seen   uint64 // one bit per name, by hash: an unset bit proves that a name is new
	first  int    // the object's names are walker.names[first:]
	object bool
}

// document walks the whole document.
func (w *walker) document() *Error {
	if err := checkLen(len(w.doc)); err != nil {
		return err
	}
	w.levels = min(w.levels, abi.MaxDepth)
	if err := w.byteOrderMark(); err != nil {
		return err
	}
	for {
		var err *Error
		switch e := w.next(); e {
		case done:
			return nil
		case nameRead:
			err = w.addName()
		case objectRead:
			if err = w.endNames(); err == nil {
				w.close()
			}
		default:
			if w.fix == nil || !w.repair(e) {
				err = w.problem(e)
			}
		}
		if err != nil {
			return err
		}
	}
}

// checkLen refuses a document that is too long for the 32-bit offsets of name. The output
// of Normalize may be six times as long as the document.
func checkLen(n int) *Error {
	if n > MaxLen {
		return &Error{Offset: MaxLen, Reason: "document is longer than 512 MiB"}
	}
	return nil
}

// byteOrderMark skips a byte order mark, or refuses it if the walker does not repair.
func (w *walker) byteOrderMark() *Error {
	if d := w.doc; len(d) < 3 || d[0] != 0xEF || d[1] != 0xBB || d[2] != 0xBF {
		return nil
	}
	if w.fix == nil {
		return &Error{Offset: 0, Reason: "byte order mark; JSON starts without one"}
	}
	w.fix.ByteOrderMarks++
	w.fix.copied = 3
	w.i = 3
	return nil
}

// next reads until an event occurs.
func (w *walker) next() event {
	for {
		var e event
		switch w.state {
		case beforeValue:
			e = w.value()
		case inString:
			e = w.str()
		case afterName:
			e = w.colon()
		case afterValue:
			e = w.after()
		}
		if e != none {
			return e
		}
	}
}

// value reads a scalar or an empty array or object. Of any other array or object it reads
// only the bracket, or the brace and the first member's name.
func (w *walker) value() event {
	w.space()
	if w.i == len(w.doc) {
		if w.depth == 0 {
			return w.wrong("document is empty")
		}
		return w.unexpected("a value")
	}
	switch c := w.doc[w.i]; c {
	case '"':
		return w.text(false)
	case '{', '[':
		if w.depth >= w.levels {
			return tooDeep
		}
		w.open[w.depth] = level{object: c == '{', first: len(w.names)}
		w.depth++
		w.i++
		w.space()
		if w.i < len(w.doc) && w.doc[w.i] == c+2 { // '}' is '{' + 2, as ']' is '[' + 2
			w.close()
			return none
		}
		if c == '{' {
			return w.name()
		}
		return none
	case 't':
		return w.literal("true", "expected true")
	case 'f':
		return w.literal("false", "expected false")
	case 'n':
		return w.literal("null", "expected null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return w.number()
	}
	return w.unexpected("a value")
}

// after reads the tokens after a value: ends of arrays and objects, then a comma or the
// end of the document.
func (w *walker) after() event {
	for {
		w.space()
		if w.depth == 0 {
			if w.i < len(w.doc) {
				return w.wrong("trailing data after the document")
			}
			return done
		}
		l := &w.open[w.depth-1]
		var c byte
		if w.i < len(w.doc) {
			c = w.doc[w.i]
		}
		switch {
		case c == ',':
			w.i++
			if l.object {
				return w.name()
			}
			w.state = beforeValue
			return none
		case c == '}' && l.object:
			if w.fix != nil || len(w.names)-l.first > smallObject {
				return objectRead
			}
			w.names = w.names[:l.first]
			w.close()
		case c == ']' && !l.object:
			w.close()
		case l.object:
			return w.unexpected("',' or '}'")
		default:
			return w.unexpected("',' or ']'")
		}
	}
}

// close reads the bracket or brace that ends the innermost array or object.
func (w *walker) close() {
	w.i++
	w.depth--
	w.state = afterValue
}

// name reads a member's name.
func (w *walker) name() event {
	w.space()
	if w.i == len(w.doc) || w.doc[w.i] != '"' {
		return w.unexpected("a member name in quotes")
	}
	return w.text(true)
}

// colon reads the colon after a member's name.
func (w *walker) colon() event {
	w.space()
	if w.i == len(w.doc) || w.doc[w.i] != ':' {
		return w.unexpected("':' after a member name")
	}
	w.i++
	w.state = beforeValue
	return none
}

// literal reads true, false or null.
func (w *walker) literal(word, reason string) event {
	for k := 0; k < len(word); k++ {
		if w.i+k == len(w.doc) || w.doc[w.i+k] != word[k] {
			return w.wrong(reason)
		}
	}
	w.i += len(word)
	w.state = afterValue
	return none
}

// space skips white space.
func (w *walker) space() {
	for w.i < len(w.doc) {
		if c := w.doc[w.i]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return
		}
		w.i++
	}
}

func (w *walker) wrong(reason string) event {
	w.reason = reason
	return wrong
}

func (w *walker) unexpected(expected string) event {
	w.reason = expected
	return unexpected
}

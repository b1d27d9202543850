package redact

// set is a set of characters: a union of the classes below.
type set uint32

const (
	digit set = 1 << iota
	upper
	lower
	underscore
	hyphen
	dot
	plus
	slash
	query
	atSign
	equals
	tilde
	comma
	semicolon
	bracket // closing brackets
	bar
	amp
	angle
	backslash
	quote
	space
	tab
	eol
	control // includes tabs and line ends
	hexLetter
	escapeLetter // of \n, \r and \t
	typeMark     // punctuation in the type of a declaration
	high         // not ASCII
)

const (
	letter   = upper | lower
	alnum    = letter | digit
	word     = alnum | underscore
	dashed   = word | hyphen
	dotted   = dashed | dot
	b64token = dotted | tilde | plus | slash | equals // of a bearer header (RFC 6750)
	base64   = alnum | plus | slash | equals
	hex      = digit | hexLetter
	capital  = upper | digit | underscore // in SOME_KEY
	blank    = space | tab
)

// chars contains the classes of each character.
var chars = charClasses()

func charClasses() (t [256]set) {
	for _, class := range []struct {
		set     set
		members string
	}{
		{digit, "0123456789"}, {upper, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, {lower, "abcdefghijklmnopqrstuvwxyz"}, {hexLetter, "abcdefABCDEF"},
		{underscore, "_"}, {hyphen, "-"}, {dot, "."}, {plus, "+"}, {slash, "/"}, {query, "?#"}, {atSign, "@"}, {equals, "="}, {tilde, "~"}, {comma, ","}, {semicolon, ";"},
		{bracket, ")]}"}, {bar, "|"}, {amp, "&"}, {angle, "<>"}, {backslash, `\`}, {quote, "\"'`"}, {space, " "}, {tab, "\t"}, {eol, "\r\n"},
		{escapeLetter, "nrt"}, {typeMark, "_.<>[]|&?"},
	} {
		for i := range len(class.members) {
			t[class.members[i]] |= class.set
		}
	}
	for c := range t {
		switch {
		case c < ' ':
			t[c] |= control
		case c >= 0x80:
			t[c] |= high
		}
	}
	return t
}

func (s set) has(c byte) bool { return chars[c]&s != 0 }

// at reports whether text[i] exists and is in the set.
func (s set) at(text string, i int) bool { return uint(i) < uint(len(text)) && chars[text[i]]&s != 0 }

// span returns the end of the run of characters of the set that begins at text[i].
func (s set) span(text string, i int) int {
	for i < len(text) && chars[text[i]]&s != 0 {
		i++
	}
	return i
}

// spanMax is span, limited to n characters.
func (s set) spanMax(text string, i, n int) int { return s.span(upTo(text, i+n), i) }

// until returns the index of the first character of the set in text[i:], or the
// end of the text.
func (s set) until(text string, i int) int {
	for i < len(text) && chars[text[i]]&s == 0 {
		i++
	}
	return i
}

// back returns the beginning of the run of at most n characters of the set that ends before
// text[end].
func (s set) back(text string, end, n int) int {
	for stop := max(0, end-n); end > stop && chars[text[end-1]]&s != 0; {
		end--
	}
	return end
}

// all reports whether every character of v is in the set.
func (s set) all(v string) bool { return s.span(v, 0) == len(v) }

// in reports whether v contains a character of the set.
func (s set) in(v string) bool { return s.until(v, 0) < len(v) }

// upTo returns at most the first n bytes of a text.
func upTo(text string, n int) string { return text[:min(len(text), n)] }

// skipSpace returns the index after the blanks at i, at most maxBlanks of them.
func skipSpace(text string, i int) int { return blank.spanMax(text, i, maxBlanks) }

// boundary reports whether a word can start at i: the character before i is not part of a
// word, or is the letter of an undecoded escape such as \n.
func boundary(text string, i int) bool {
	return !word.at(text, i-1) || i > 1 && text[i-2] == '\\' && escapeLetter.has(text[i-1])
}

// escape reports whether an escaped line end, tab or quote is at text[i].
func escape(text string, i int) bool {
	return text[i] == '\\' && (escapeLetter|quote).at(text, i+1)
}

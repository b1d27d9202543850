package jsonstrict

import "strconv"

// problem returns the error for the event at which next stopped.
func (w *walker) problem(e event) *Error {
	at, reason := w.i, ""
	switch e {
	case unexpected:
		if w.i < len(w.doc) {
			reason = "expected " + w.reason + ", found " + quoteByte(w.doc[w.i])
		} else {
			reason = "document ends where " + w.reason + " was expected"
		}
	case tooDeep:
		reason = "nested deeper than " + strconv.Itoa(w.levels) + " levels"
	case invalidUTF8:
		reason = "invalid UTF-8"
	case loneSurrogate:
		reason = "lone surrogate escape; surrogates come in pairs, high before low"
	case rawControl:
		reason = "control character 0x" + hexByte(w.doc[w.i]) + " in a string; write it as an escape"
	case bigNumber:
		at, reason = w.start, "number beyond ±2^53; write it as a string"
	default:
		reason = w.reason
	}
	return &Error{Offset: at, Reason: reason}
}

// quoteByte formats a byte for an error text.
func quoteByte(c byte) string {
	if c <= ' ' || c >= 0x7F {
		return "byte 0x" + hexByte(c)
	}
	return "'" + string(rune(c)) + "'"
}

const hexDigits = "0123456789abcdef"

func hexByte(c byte) string { return string([]byte{hexDigits[c>>4], hexDigits[c&0xF]}) }

package transcript

import (
	"unicode/utf8"
)

// TruncateText truncates a text to at most limit bytes, including Marker, on a code-point
// boundary. It returns a shorter text unchanged.
func TruncateText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-len(Marker))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + Marker
}

// FitTexts truncates texts so that, as JSON strings without the quotes, they take at most
// room bytes together. Each text gets an equal share; long texts share the room that short ones leave.
func FitTexts(room int, texts ...*string) {
	for len(texts) > 0 {
		// Find the smallest of the remaining texts.
		at, size := 0, room+2
		for i, t := range texts {
			end, n := prefix(*t, room)
			if end < len(*t) {
				n = room + 1
			}
			if n < size {
				at, size = i, n
			}
		}
		if share := room / len(texts); size > share {
			end, _ := prefix(*texts[at], max(0, share-markerSize))
			*texts[at] = (*texts[at])[:end] + Marker
			size = share
		}
		room -= size
		texts[at] = texts[len(texts)-1]
		texts = texts[:len(texts)-1]
	}
}

// markerSize is the size of Marker in JSON, where its line break is escaped.
const markerSize = len(Marker) + 1

// prefix returns the end of the longest prefix of a text that, as a JSON string, takes at most
// room bytes between the quotes. size is the number of those bytes.
func prefix(text string, room int) (end, size int) {
	for end < len(text) {
		next, n := end+1, 1
		switch c := text[end]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n = 2
		case c < 0x20:
			n = 6
		case c >= utf8.RuneSelf:
			r, width := utf8.DecodeRuneInString(text[end:])
			next, n = end+width, utf8.RuneLen(r) // invalid UTF-8 becomes U+FFFD
		}
		if size+n > room {
			break
		}
		end, size = next, size+n
	}
	return end, size
}

package redact

import "strings"

func anyWord(v string) bool {
	for i := 0; i < len(v); i++ {
		if alnum(v[i]) || v[i] >= 0x80 {
			return true
		}
	}
	return false
}

// numeric reports whether v is an amount: 512, 1.5k, 20%.
func numeric(v string) bool {
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case digit(c), c == '.', c == ',', c == '_', c == '-', c == '+':
		case i == len(v)-1 && (c == 'k' || c == 'K' || c == 'm' || c == 'M' || c == '%'):
		default:
			return false
		}
	}
	return true
}

// plainWord reports whether v has the characters of a key and no others.
func plainWord(v string) bool {
	for i := 0; i < len(v); i++ {
		if !credentialByte(v[i]) {
			return false
		}
	}
	return true
}

// looksSecret tells a generated secret from a name: 20 characters with digits,
// capitals and small letters, or 32 letters and digits. A UUID is a name.
func looksSecret(v string) bool {
	digits, capital, small, marks := 0, 0, 0, 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case digit(c):
			digits++
		case upper(c):
			capital++
		case lower(c):
			small++
		case c == '_', c == '-', c == '+', c == '=':
			marks++
		default:
			return false
		}
	}
	if digits == 0 || capital+small == 0 || isUUID(v) {
		return false
	}
	return len(v) >= 20 && capital > 0 && small > 0 || len(v) >= 32 && marks == 0
}

func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := 0; i < len(v); i++ {
		switch i {
		case 8, 13, 18, 23:
			if v[i] != '-' {
				return false
			}
		default:
			if !hexDigit(v[i]) {
				return false
			}
		}
	}
	return true
}

// path reports whether v names a file: what begins with / may also be base64, in
// which a part would look random.
func path(v string) bool {
	switch {
	case len(v) > maxGuess:
		return false
	case strings.HasPrefix(v, "~/"), strings.HasPrefix(v, "./"), strings.HasPrefix(v, "../"), len(v) > 1 && v[1] == ':' && (len(v) == 2 || v[2] == '\\'):
		return true
	case v == "" || v[0] != '/' || v[len(v)-1] == '=':
		return false
	}
	for more := true; more; {
		var part string
		if part, v, more = strings.Cut(v, "/"); looksSecret(part) && !isHex(part) {
			return false
		}
	}
	return true
}

// isHex reports whether v is a digest, as directories of caches are named.
func isHex(v string) bool {
	for i := 0; i < len(v); i++ {
		if !hexDigit(v[i]) {
			return false
		}
	}
	return true
}

// wordy reports whether v consists of several words and years: a title in
// dashes, and no token.
func wordy(v string) bool {
	letters, digits, parts := 0, 0, 1
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case digit(c):
			digits++
		case lower(c), upper(c) && letters == 0:
			letters++
		case !alnum(c):
			letters, digits = 0, 0
			parts++
		default:
			return false
		}
		if letters > 20 || digits > 4 || letters > 0 && digits > 0 {
			return false
		}
	}
	return parts > 1
}

package redact

import "strings"

// numeric reports whether v is a number or amount: 512, 1.5k, 20%.
func numeric(v string) bool {
	if n := len(v) - 1; n >= 0 && strings.IndexByte("kKmM%", v[n]) >= 0 {
		v = v[:n]
	}
	return (digit | dot | comma | underscore | hyphen | plus).all(v)
}

// looksSecret reports whether v looks like a generated secret rather than a name: at least 20
// characters with digits, upper-case and lower-case letters, or at least 32 letters and
// digits. A UUID counts as a name.
func looksSecret(v string) bool {
	if len(v) < 20 || !(dashed | plus | equals).all(v) || !digit.in(v) || isUUID(v) {
		return false
	}
	return upper.in(v) && lower.in(v) || len(v) >= 32 && letter.in(v) && alnum.all(v)
}

func isUUID(v string) bool {
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' &&
		strings.Count(v, "-") == 4 && (hex | hyphen).all(v)
}

// path reports whether v is the path of a file. A value that begins with / may also be
// base64, in which a part between slashes looks random. Hexadecimal parts are accepted,
// because cache directories are named by digests.
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
		if part, v, more = strings.Cut(v, "/"); looksSecret(part) && !hex.all(part) {
			return false
		}
	}
	return true
}

// wordy reports whether v consists of several words and years, like a title joined with
// dashes, and is therefore not a token.
func wordy(v string) bool {
	letters, digits, parts := 0, 0, 1
	for i := range len(v) {
		switch c := v[i]; {
		case digit.has(c):
			digits++
		case lower.has(c), upper.has(c) && letters == 0:
			letters++
		case !alnum.has(c):
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

// masked reports whether v begins with a mask or with the end of one.
func masked(v string) bool {
	return strings.HasPrefix(v, hidden) || strings.Contains(upTo(v, head+len(ellipsis)), ellipsis)
}

// opensMask reports whether a text begins with a masked value of any length.
func opensMask(text string) bool {
	const outside = blank | eol | quote | amp | angle | comma | semicolon
	return masked(text[:outside.until(upTo(text, head+len(ellipsis)), 0)])
}

// reference reports whether v is a reference to a credential instead of the credential:
// $TOKEN, ${token}, $(pass …), {{token}}, <token>, %TOKEN%.
func reference(v string) bool {
	if len(v) < 2 {
		return false
	}
	last := len(v) - 1
	switch v[0] {
	case '$':
		return opensReference(v) || capital.all(v[1:])
	case '<':
		return v[last] == '>' || !strings.Contains(v, ">")
	case '%':
		return v[last] == '%' && capital.all(v[1:last])
	}
	return opensReference(v)
}

// opensReference reports whether v begins like a reference.
func opensReference(v string) bool {
	return strings.HasPrefix(v, "${") || strings.HasPrefix(v, "$(") || strings.HasPrefix(v, "{{")
}

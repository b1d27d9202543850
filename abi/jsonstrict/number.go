package jsonstrict

// number reads the number at w.i.
func (w *walker) number() event {
	doc := w.doc
	w.start = w.i
	i := w.i
	if doc[i] == '-' {
		i++
	}
	first := i
	i = digits(doc, i)
	switch {
	case i == first:
		w.i = i
		return w.wrong("number without a digit")
	case doc[first] == '0' && i > first+1:
		w.i = first
		return w.wrong("number with a leading zero")
	}
	large := i-first > 15 // may be beyond 2^53; a shorter integer part is not
	if i < len(doc) && doc[i] == '.' {
		point := i
		if i = digits(doc, i+1); i == point+1 {
			w.i = i
			return w.wrong("number without a digit after the decimal point")
		}
	}
	if i < len(doc) && doc[i]|0x20 == 'e' {
		large = true
		if i++; i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		e := i
		if i = digits(doc, i); i == e {
			w.i = i
			return w.wrong("number without a digit in its exponent")
		}
	}
	w.i = i
	w.state = afterValue
	if large && beyond(doc[first:i]) {
		return bigNumber
	}
	return none
}

// digits returns the index after the digits at i.
func digits(doc []byte, i int) int {
	for i < len(doc) && doc[i]-'0' <= 9 {
		i++
	}
	return i
}

// limit is 2^53, the largest magnitude allowed.
const limit = "9007199254740992"

// beyond reports whether an unsigned JSON number is greater than 2^53. It
// compares decimal digits, so that nothing is rounded.
func beyond(text []byte) bool {
	mantissa, exponent := text, int64(0)
	point := -1
	for i, c := range text {
		if c == '.' {
			point = i
		} else if c|0x20 == 'e' {
			mantissa, exponent = text[:i], exponentOf(text[i+1:])
			break
		}
	}
	if point < 0 {
		point = len(mantissa)
	}
	// The value is 0.d1d2d3… × 10^power, where d1 is the first digit that is not 0.
	i := 0
	for i < len(mantissa) && (mantissa[i] == '0' || mantissa[i] == '.') {
		i++
	}
	if i == len(mantissa) {
		return false
	}
	power := int64(point-i) + exponent
	if i > point {
		power++
	}
	if power != int64(len(limit)) {
		return power > int64(len(limit))
	}
	k := 0
	for ; i < len(mantissa); i++ {
		d := mantissa[i]
		if d == '.' {
			continue
		}
		l := byte('0')
		if k < len(limit) {
			l = limit[k]
		}
		if d != l {
			return d > l
		}
		k++
	}
	return false // equal so far, and the remaining digits of limit are at least 0
}

// exponentOf parses an exponent: an optional sign and digits. Its magnitude saturates at
// 2^40, which is more than the number of digits of any mantissa within MaxLen.
func exponentOf(text []byte) int64 {
	sign := int64(1)
	switch text[0] {
	case '-':
		sign = -1
		text = text[1:]
	case '+':
		text = text[1:]
	}
	n := int64(0)
	for _, c := range text {
		if n = n*10 + int64(c-'0'); n > 1<<40 {
			n = 1 << 40
		}
	}
	return sign * n
}

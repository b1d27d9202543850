package redact

// jsonWebToken matches a JSON Web Token whose initial eyJ has its J at text[i]: two parts,
// each followed by a dot, and an optional third part.
func jsonWebToken(text string, i int) Match {
	start := i - len("ey")
	if start < 0 || text[start:i] != "ey" || !boundary(text, start) {
		return Match{}
	}
	end := dashed.spanMax(text, start, maxLook)
	if end-start < 10 || !dot.at(text, end) {
		return Match{}
	}
	second := end + 1
	end = dashed.span(text, second)
	if end-second < 8 || !dot.at(text, end) {
		return Match{}
	}
	return Match{Start: start, End: widen(text, end)}
}

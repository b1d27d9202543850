// Package jsonvalue represents JSON documents as plain Go values, for code that does
// not know their structure: objects are map[string]any, arrays []any, and numbers
// json.Number, so that no digit is lost. It is written for clarity and for readable
// error messages, not for speed.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Parse reads one JSON document into map[string]any, []any, string,
// json.Number, bool and nil. It refuses duplicate members and trailing data, which
// json.Decoder accepts, and nesting that would overflow the stack.
func Parse(doc []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	v, err := parseValue(d, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("trailing data at byte %d", d.InputOffset())
	}
	return v, nil
}

// maxDepth is the nesting limit that json.Unmarshal has and json.Decoder.Token lacks.
const maxDepth = 10_000

func parseValue(d *json.Decoder, levels int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if levels == 0 {
		return nil, fmt.Errorf("more than %d levels at byte %d", maxDepth, d.InputOffset())
	}
	switch t {
	case json.Delim('{'):
		o := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key := name.(string)
			if _, dup := o[key]; dup {
				return nil, fmt.Errorf("duplicate member %q at byte %d", key, d.InputOffset())
			}
			if o[key], err = parseValue(d, levels-1); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		a := []any{}
		for d.More() {
			v, err := parseValue(d, levels-1)
			if err != nil {
				return nil, err
			}
			a = append(a, v)
		}
		_, err := d.Token()
		return a, err
	}
	return t, nil
}

// Compact encodes a parsed value without white space and without escapes that JSON does
// not require. Members are in alphabetical order.
func Compact(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("jsonvalue: encode a parsed value: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Lookup follows a JSON Pointer (RFC 6901) into a parsed value. It returns false if the
// pointer leads to no value.
func Lookup(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for _, name := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch c := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = c[name]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// SameNumber compares numbers by their exact decimal value: 1, 1.0 and 10e-1
// are the same number, 2^53 and 2^53+1 are not.
func SameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	an, ad, ae := decimal(string(a))
	bn, bd, be := decimal(string(b))
	return ad == bd && (ad == "" || an == bn && ae == be)
}

// decimal splits a JSON number into its sign, its digits without leading and trailing
// zeros (none for zero) and the exponent of the last digit.
func decimal(text string) (negative bool, digits string, exponent int) {
	text, negative = strings.CutPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	return negative, trimmed, exponent + len(digits) - len(trimmed)
}

// Number returns n as a parsed whole number.
func Number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

package config

import (
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/config/internal/document"
)

// text reads a string, trims it, refuses a blank one and checks the member's format. With
// the format exact, it returns the string unchanged, even a blank one.
func (r *reader) text(v value, m *member) (string, bool) {
	if !r.wants(v, document.String) {
		return "", false
	}
	s, words, format := strings.TrimSpace(v.node.String), m.oneOf(), m.tag.Get("format")
	switch {
	case format == "exact" && strings.ContainsRune(v.node.String, 0):
		r.problem(v, "contains a NUL character")
	case format == "exact":
		return v.node.String, true
	case s == "":
		r.problem(v, "is blank; leave it out, or give it a value")
	case len(words) > 0 && !slices.Contains(words, s):
		r.problem(v, "%q is not one of %s", clip(s), strings.Join(words, ", "))
	default:
		return r.formatted(v, format, s)
	}
	return "", false
}

func (r *reader) formatted(v value, format, s string) (string, bool) {
	parse, ok := formats[format]
	if !ok {
		return s, true
	}
	s, problem := parse(s)
	if problem != "" {
		r.problem(v, "%s", problem)
	}
	return s, problem == ""
}

// secret reads a secret, given as a string or as {env: NAME}. A variable that is not set
// is not a problem of the file: secret stores its name in the field of owner that the
// member's tag unset names.
func (r *reader) secret(v value, m *member, owner reflect.Value) (string, bool) {
	if v.node.Kind == document.String {
		return r.text(v, m)
	}
	if v.node.Kind != document.Object {
		r.problem(v, "is %s; it must be a string, or {env: NAME}", v.node.Kind)
		return "", false
	}
	var from struct {
		Name string `config:"env" missing:"has no env; write {env: NAME} with the name of an environment variable"`
	}
	r.object(v, &from)
	s := strings.TrimSpace(os.Getenv(from.Name))
	if s != "" {
		return r.formatted(v, m.tag.Get("format"), s)
	}
	switch unset := owner.FieldByName(m.tag.Get("unset")).Addr().Interface().(type) {
	case *string:
		*unset = from.Name
	case *[]string:
		*unset = append(*unset, from.Name)
	}
	return "", false
}

// duration reads a text such as "15m", or a number of milliseconds if the member has a
// range.
func (r *reader) duration(v value, m *member) (time.Duration, bool) {
	if m.tag.Get("range") != "" {
		n, ok := r.whole(v, m)
		return time.Duration(n) * time.Millisecond, ok
	}
	s, ok := r.text(v, m)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		r.problem(v, `%q is not a duration such as "90s", "15m" or "24h"`, clip(s))
		return 0, false
	}
	return d, true
}

// whole reads an integer within the member's range.
func (r *reader) whole(v value, m *member) (int64, bool) {
	if !r.wants(v, document.Number) {
		return 0, false
	}
	f := v.node.Number
	low, high := m.limits()
	if f != math.Trunc(f) || f < float64(low) || f > float64(high) { // also infinite
		r.problem(v, "is %s; it must be a whole number from %d to %d", number(f), low, high)
		return 0, false
	}
	return int64(f), true
}

// price reads an amount of dollars.
func (r *reader) price(v value, to reflect.Value) {
	if !r.wants(v, document.Number) {
		return
	}
	if f := v.node.Number; f >= 0 && !math.IsInf(f, 1) {
		to.SetFloat(f)
	} else {
		r.problem(v, "is %s; it must be a price in dollars, 0 or more", number(f))
	}
}

func number(f float64) string {
	if math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

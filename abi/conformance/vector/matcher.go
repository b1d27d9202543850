package vector

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// matchers holds the special members of a pattern. All matchers of one object must
// match. "JSON text" is the value's compact JSON; for a string, its contents without
// quotes.
//
//	{"$absent": true}        the member does not exist
//	{"$any": true}           the member exists, with any value
//	{"$is": value}           exactly equal, without extra members
//	{"$only": {…patterns…}}  an object without members besides these
//	{"$len": n}              number of elements of an array or code points of a string
//	{"$gte": n}, {"$lte": n} bounds of a number, or of a length as in $len
//	{"$prefix": text}, {"$suffix": text}
//	{"$contains": text | [text…]}   in the JSON text
//	{"$lacks": text | [text…]}      not in the JSON text
//	{"$maxBytes": n}         length of the JSON text in bytes
//	{"$every": pattern}      each element of an array matches
//	{"$some": [pattern…]}    for each pattern, some element matches
//	{"$at": {"0": pattern, "-1": pattern}}  elements by index; negative counts from the end
//	{"$pluck": {"name": [values…]}}         the values of that member, by element
//	{"$unique": "name"}      no two elements have the same value of that member
//	{"$or": [pattern…]}      one of the patterns matches
//	{"$all": [pattern…]}     each of the patterns matches
var matchers map[string]func(c *comparison, path string, got, arg any)

// init fills the table. A composite literal would be an initialization cycle,
// because the functions that it names read the table.
func init() {
	matchers = map[string]func(c *comparison, path string, got, arg any){
		"$any":  func(*comparison, string, any, any) {},
		"$is":   (*comparison).exact,
		"$only": (*comparison).only,
		"$len":  func(c *comparison, path string, got, arg any) { c.bound(path, length(got), arg, "=", 0, 0) },
		"$gte":  func(c *comparison, path string, got, arg any) { c.bound(path, size(got), arg, "≥", 0, 1) },
		"$lte":  func(c *comparison, path string, got, arg any) { c.bound(path, size(got), arg, "≤", -1, 0) },
		"$maxBytes": func(c *comparison, path string, got, arg any) {
			c.bound(path, int64(len(jsonvalue.Text(got))), arg, "≤", -1, 0)
		},
		"$prefix":   func(c *comparison, path string, got, arg any) { c.affix(path, got, arg, strings.HasPrefix, "start") },
		"$suffix":   func(c *comparison, path string, got, arg any) { c.affix(path, got, arg, strings.HasSuffix, "end") },
		"$contains": func(c *comparison, path string, got, arg any) { c.contains(path, got, arg, true) },
		"$lacks":    func(c *comparison, path string, got, arg any) { c.contains(path, got, arg, false) },
		"$every":    (*comparison).every,
		"$some":     (*comparison).some,
		"$at":       (*comparison).at,
		"$pluck":    (*comparison).pluck,
		"$unique":   (*comparison).unique,
		"$or":       (*comparison).or,
		"$all":      (*comparison).all,
	}
}

func isMatcher(pattern map[string]any) bool {
	for name := range pattern {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// checkPattern returns an error for an unknown matcher, so that Load fails instead of Play.
func checkPattern(pattern any) error {
	switch p := pattern.(type) {
	case map[string]any:
		for _, name := range jsonvalue.Names(p) {
			if strings.HasPrefix(name, "$") && !slices.Contains(Matchers(), name) {
				return fmt.Errorf("unknown matcher %s; want one of %s", name, strings.Join(Matchers(), " "))
			}
			if name == "$is" {
				continue
			}
			if err := checkPattern(p[name]); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range p {
			if err := checkPattern(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func mayBeAbsent(pattern any) bool {
	p, ok := pattern.(map[string]any)
	if !ok {
		return false
	}
	if alternatives, ok := p["$or"].([]any); ok {
		for _, a := range alternatives {
			if mayBeAbsent(a) {
				return true
			}
		}
	}
	return p["$absent"] == true
}

func (c *comparison) matcher(path string, got any, pattern map[string]any, present bool) {
	if pattern["$absent"] == true {
		if present {
			c.fail(path, "not expected: %s", jsonvalue.Truncate(got))
		}
		return
	}
	for _, name := range jsonvalue.Names(pattern) {
		fn, ok := matchers[name]
		if !ok {
			c.fail(path, "the vector uses an unknown matcher %q", name)
			continue
		}
		if name == "$or" && !present {
			got = missing{}
		}
		fn(c, path, got, pattern[name])
	}
}

// Matchers returns the sorted names of all matchers.
func Matchers() []string {
	all := []string{"$absent"}
	for name := range matchers {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}

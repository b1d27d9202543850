package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/plugin/internal/redact"
)

// label is the name that applies to a value: the name of its member, or the name of the outer
// member if that names a credential; the name of the entry in {"name": …, "value": …}; or
// the flag before the value in ["--password", …].
type label struct {
	name      string
	inherited bool // from the outer member; does not apply to numbers
}

// of returns the label of a member of an object that has the label l.
func (l label) of(object gjson.Result, name string) label {
	own := name
	if name == "value" || name == "Value" {
		if entry := entryName(object); entry != "" {
			own = redact.EntryName(entry)
		}
	}
	if redact.Inherits(l.name, own) {
		return label{name: l.name, inherited: true}
	}
	return label{name: own}
}

// entryName returns the name of an entry in a list of headers, environment variables or
// settings.
func entryName(object gjson.Result) (name string) {
	object.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "name", "key", "header", "Name", "Key":
			name = v.Str
		}
		return name == ""
	})
	return name
}

// arrayContext is the context that the elements of an array give to the next element.
type arrayContext struct {
	flag string // the name of a flag whose value is expected next
	key  bool   // inside a private key
}

// next returns the label of the next element, and reports whether it is a line of a
// private key.
func (c *arrayContext) next(v gjson.Result, l label) (element label, keyLine bool) {
	if v.Type != gjson.String {
		*c = arrayContext{}
		return l, false
	}
	if c.key, keyLine = redact.KeyLine(v.Str, c.key); keyLine {
		return l, true
	}
	flag := redact.Flag(v.Str)
	if c.flag != "" && flag == "" && (v.Str == "" || v.Str[0] != '-') {
		l = label{name: c.flag}
	}
	c.flag = flag
	return l, false
}

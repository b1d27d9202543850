package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/plugin/internal/redact"
)

// label is what a value is named by: its member, the member around it when that
// one is named like a credential, or the text beside it in {"name": …, "value":
// …} and behind a flag in ["--password", …].
type label struct {
	name      string
	inherited bool // by a value whose own name says nothing: numbers stay
}

// of returns the label of a member of the object that l is the label of.
func (l label) of(object gjson.Result, name string) label {
	own := name
	if name == "value" || name == "Value" {
		if beside := besideValue(object); beside != "" {
			own = redact.Beside(beside)
		}
	}
	if redact.Inherits(l.name, own) {
		return label{name: l.name, inherited: true}
	}
	return label{name: own}
}

// besideValue returns the text that names the value of an entry of a list of
// headers, of environment variables or of settings.
func besideValue(object gjson.Result) (name string) {
	object.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "name", "key", "header", "Name", "Key":
			name = v.Str
		}
		return name == ""
	})
	return name
}

// sequence is what the elements of an array said so far.
type sequence struct {
	flag string // the name of a flag whose value comes next
	key  bool   // a private key has begun and not ended
}

// next returns the label of the next element, or reports that it is a line of a
// private key.
func (q *sequence) next(v gjson.Result, l label) (element label, keyLine bool) {
	if v.Type != gjson.String {
		*q = sequence{}
		return l, false
	}
	if q.key, keyLine = redact.KeyLine(v.Str, q.key); keyLine {
		return l, true
	}
	flag := redact.Flag(v.Str)
	if q.flag != "" && flag == "" && (v.Str == "" || v.Str[0] != '-') {
		l = label{name: q.flag}
	}
	q.flag = flag
	return l, false
}

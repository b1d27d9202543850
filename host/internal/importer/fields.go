package importer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Length limits of an entry's strings, in bytes. Longer texts are truncated; longer
// addresses are omitted.
const (
	maxString  = 4096
	maxAddress = abi.MaxSessionKey
)

// fields reads members of an entry and reports those that it cannot use. Null is the
// same as absent.
type fields struct {
	entry  *entry
	report *Report
}

// omitted reports a member that is not imported.
func (f *fields) omitted(text string) { f.entry.problem(f.report, BadField, text) }

func (f *fields) wrongType(name string, v gjson.Result, want string) {
	f.omitted(fmt.Sprintf("%s is %s, not %s; omitted", name, kindOf(v), want))
}

// text reads a string that is not an address.
func (f *fields) text(member string, v gjson.Result) string {
	if v.Type != gjson.String {
		if v.Type != gjson.Null {
			f.wrongType(member, v, "a string")
		}
		return ""
	}
	s := strings.TrimSpace(v.Str)
	if len(s) > maxString {
		f.report.Repairs[repairTruncated]++
		f.entry.problem(f.report, Repaired, fmt.Sprintf("%s has %d bytes; truncated to %d", member, len(s), maxString))
		s = clip(s, maxString)
	}
	return s
}

// address reads a string or integer that identifies a channel, a peer, an account or
// a thread.
func (f *fields) address(member string, v gjson.Result) string {
	var s string
	switch v.Type {
	case gjson.Null:
		return ""
	case gjson.String:
		s = strings.TrimSpace(v.Str)
	case gjson.Number:
		s = wholeText(v)
	default:
		f.wrongType(member, v, "a string or number")
		return ""
	}
	if len(s) > maxAddress {
		f.omitted(fmt.Sprintf("%s has %d bytes, more than %d; omitted", member, len(s), maxAddress))
		return ""
	}
	return s
}

func (f *fields) channel(member string, v gjson.Result) string {
	return strings.ToLower(f.address(member, v))
}

// oneOf reads a string that is one of the allowed ones, ignoring case.
func (f *fields) oneOf(member string, v gjson.Result, allowed ...string) string {
	s := strings.ToLower(f.text(member, v))
	if s == "" || slices.Contains(allowed, s) {
		return s
	}
	f.omitted(fmt.Sprintf("%s is %q, not one of %s; omitted", member, clip(s, 40), strings.Join(allowed, ", ")))
	return ""
}

// chatType reads direct, group or channel, or one of their older names.
func (f *fields) chatType(member string, v gjson.Result) string {
	switch s := f.oneOf(member, v, "direct", "group", "channel", "dm", "room"); s {
	case "dm":
		return "direct"
	case "room":
		return "channel"
	default:
		return s
	}
}

// count reads a non-negative number and rounds it down.
func (f *fields) count(member string, v gjson.Result) *int64 {
	if v.Type == gjson.Null {
		return nil
	}
	n, ok := whole(v)
	if !ok {
		f.wrongType(member, v, "a number from 0 to 2^53")
		return nil
	}
	return &n
}

// millis reads a time in milliseconds. It returns 0 for any other value.
func (f *fields) millis(member string, v gjson.Result) int64 {
	if n := f.count(member, v); n != nil {
		return *n
	}
	return 0
}

func (f *fields) flag(member string, v gjson.Result) *bool {
	switch v.Type {
	case gjson.Null:
	case gjson.True, gjson.False:
		b := v.Bool()
		return &b
	default:
		f.wrongType(member, v, "true or false")
	}
	return nil
}

// parent reads the key of the session that spawned this one and makes it canonical.
func (f *fields) parent(member string, v gjson.Result, settings sessionkey.Settings) string {
	spelling := f.address(member, v)
	if spelling == "" {
		return ""
	}
	key, err := canonicalKey(settings, spelling, f.entry.Dir.Agent)
	if err != nil {
		f.omitted("spawnedBy " + err.Error() + "; omitted")
		return ""
	}
	return key
}

// target reads a delivery target. It ignores unknown members.
func (f *fields) target(member string, v gjson.Result) (t abi.Target) {
	if !v.IsObject() {
		if v.Type != gjson.Null {
			f.wrongType(member, v, "an object")
		}
		return t
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch name := member + "." + k.Str; k.Str {
		case "channel":
			t.Channel = f.channel(name, v)
		case "to":
			t.To = f.address(name, v)
		case "accountId":
			t.AccountID = f.address(name, v)
		case "threadId":
			t.ThreadID = f.address(name, v)
		}
		return true
	})
	return t
}

// whole rounds down a number from 0 to 2^53. It returns false for any other value.
func whole(v gjson.Result) (int64, bool) {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num <= abi.MaxSafeInteger) {
		return 0, false
	}
	return int64(math.Floor(v.Num)), true
}

func wholeText(v gjson.Result) string {
	if v.Num == math.Trunc(v.Num) && math.Abs(v.Num) <= abi.MaxSafeInteger {
		return strconv.FormatInt(int64(v.Num), 10)
	}
	return v.Raw
}

func kindOf(v gjson.Result) string {
	switch {
	case v.Type == gjson.Null:
		return "null"
	case v.Type == gjson.String:
		return "a string"
	case v.Type == gjson.Number:
		return "the number " + clip(v.Raw, 30)
	case v.IsBool():
		return v.Raw
	case v.IsArray():
		return "an array"
	}
	return "an object"
}

package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// entry is one session of a sessions.json.
type entry struct {
	Store    string // path of the sessions.json
	Line     int
	Spelling string // the key as written in the file
	Dir      *agentDir

	Session     abi.Session
	Extra       []byte // JSON object of the members that abi.Session lacks; empty = none
	SessionFile string // the transcript's path according to the entry
	Transcript  string // path of the transcript below the state directory; empty = not read
	Size        int64  // of the transcript; -1 = not read
}

// errReserved is the error for keys that are reserved words (S1.3).
var errReserved = errors.New("is a reserved word, not a session key")

// canonicalKey returns the stored key for a spelling found in the directory of agent. Of
// the reserved words, only "global" is also a session's key.
func canonicalKey(settings sessionkey.Settings, spelling, agent string) (string, error) {
	spelling = strings.TrimSpace(spelling)
	switch spelling {
	case sessionkey.Global:
		return sessionkey.Global, nil
	case sessionkey.Unknown, sessionkey.Current:
		return "", errReserved
	}
	if _, rest, ok := sessionkey.Split(spelling); ok && reserved(rest) {
		return "", errReserved
	}
	if hasParentPart(spelling) {
		return "", errors.New(`contains ".." as a part`)
	}
	key, err := settings.Canonical(spelling, agent)
	if err == nil && len(key) > abi.MaxSessionKey {
		err = fmt.Errorf("is longer than %d bytes with its agent", abi.MaxSessionKey)
	}
	return key, err
}

// hasParentPart reports whether a part of a key or id is "..", as in a path to a parent
// directory.
func hasParentPart(s string) bool {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ':' || r == '/' || r == '\\' }) {
		if part == ".." {
			return true
		}
	}
	return false
}

// checkSessionID returns an error if a transcript cannot be named after id.
func checkSessionID(id string) error {
	if err := sessionkey.Check(id); err != nil {
		return err
	}
	if strings.ContainsAny(id, `/\`) || id == "." || id == ".." {
		return errors.New("contains a path separator or is a path")
	}
	return nil
}

// problem reports a problem with the entry.
func (e *entry) problem(r *Report, kind, text string) {
	r.problem(e.Store, e.Line, kind, quote(e.Session.Key)+": "+text)
}

// fill maps an entry's normalised JSON to a session (S2.3). The caller must set the key
// and the agent first.
func (e *entry) fill(obj gjson.Result, settings sessionkey.Settings, r *Report) error {
	s, f := &e.Session, &fields{e, r}
	var origin struct{ channel, chatType string }
	var archived bool
	extra := jsonappend.Open(nil)
	obj.ForEach(func(k, v gjson.Result) bool {
		switch name := k.Str; name {
		case "skillsSnapshot", "systemPromptReport": // large; OpenClaw rebuilds them when needed
		case "sessionId":
			s.SessionID = f.text(name, v)
		case "sessionFile":
			e.SessionFile = f.text(name, v)
		case "updatedAt":
			s.UpdatedAt = f.millis(name, v)
		case "label":
			s.Label = f.text(name, v)
		case "displayName":
			s.DisplayName = f.text(name, v)
		case "subject":
			s.Subject = f.text(name, v)
		case "chatType":
			s.ChatType = f.chatType(name, v)
		case "channel":
			s.Channel = f.channel(name, v)
		case "deliveryContext":
			s.DeliveryContext = f.target(name, v)
		case "lastChannel":
			s.LastChannel = f.channel(name, v)
		case "lastTo":
			s.LastTo = f.address(name, v)
		case "lastAccountId":
			s.LastAccountID = f.address(name, v)
		case "lastThreadId":
			s.LastThreadID = f.address(name, v)
		case "model":
			s.Model = f.text(name, v)
		case "contextTokens":
			s.ContextTokens = f.count(name, v)
		case "totalTokens":
			s.TotalTokens = f.count(name, v)
		case "thinkingLevel":
			s.ThinkingLevel = f.text(name, v)
		case "verboseLevel":
			s.VerboseLevel = f.text(name, v)
		case "systemSent":
			s.SystemSent = f.flag(name, v)
		case "abortedLastRun":
			s.AbortedLastRun = f.flag(name, v)
		case "sendPolicy":
			s.SendPolicy = f.oneOf(name, v, "allow", "deny")
		case "spawnedBy":
			s.SpawnedBy = f.parent(name, v, settings)
		case "status":
			s.Status = f.oneOf(name, v, "running", "done", "failed", "killed", "timeout")
		case "archivedAt":
			s.ArchivedAt = f.millis(name, v)
		case "archived":
			b := f.flag(name, v)
			archived = b != nil && *b
		case "origin":
			origin.channel = cmp.Or(strings.ToLower(v.Get("provider").Str), strings.ToLower(v.Get("surface").Str))
			if v.IsObject() {
				origin.chatType = f.chatType("origin.chatType", v.Get("chatType"))
			}
			extra.Raw(name, compact(v.Raw))
		default:
			extra.Raw(name, compact(v.Raw))
		}
		return true
	})
	if e.Extra = extra.Close(); string(e.Extra) == "{}" {
		e.Extra = nil
	}
	s.ChatType = cmp.Or(s.ChatType, origin.chatType)
	s.Channel = cmp.Or(s.Channel, omitLongAddress(strings.TrimSpace(origin.channel)))
	if archived && s.ArchivedAt == 0 {
		s.ArchivedAt = max(s.UpdatedAt, 1)
	}
	if s.SessionID == "" {
		return errors.New("has no sessionId")
	}
	if err := checkSessionID(s.SessionID); err != nil {
		return fmt.Errorf("has a sessionId that %w", err)
	}
	return nil
}

// compact returns a member's JSON without insignificant white space.
func compact(raw string) []byte {
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil {
		return []byte(raw)
	}
	return b.Bytes()
}

func omitLongAddress(s string) string {
	if len(s) > maxAddress {
		return ""
	}
	return s
}

package step

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// A request is one host-function call, checked and taken apart. Its members are
// read with the methods below, which note the first mistake; done reports it,
// and members that nobody asked for.
type request struct {
	family, op string
	members    map[string]gjson.Result
	err        error
}

func parseRequest(family string, doc []byte) (*request, error) {
	if err := jsonstrict.Check(doc); err != nil {
		return nil, abi.NewError(abi.InvalidArgs, family+": the request is not strict JSON: "+err.Error())
	}
	r := &request{family: family}
	if err := r.object("request", gjson.ParseBytes(doc)); err != nil {
		return nil, err
	}
	r.op = r.text("op", true)
	return r, r.err
}

func (r *request) object(name string, v gjson.Result) error {
	if !v.IsObject() {
		return abi.NewError(abi.InvalidArgs, r.family+": "+name+" must be an object")
	}
	r.members = make(map[string]gjson.Result, 8)
	v.ForEach(func(key, value gjson.Result) bool {
		r.members[key.Str] = value
		return true
	})
	return nil
}

func (r *request) fail(format string, args ...any) {
	if r.err == nil {
		r.err = abi.NewError(abi.InvalidArgs, fmt.Sprintf(r.family+"."+r.op+": "+format, args...))
	}
}

func (r *request) take(name string) (gjson.Result, bool) {
	v, ok := r.members[name]
	delete(r.members, name)
	return v, ok
}

func (r *request) text(name string, required bool) string {
	v, ok := r.take(name)
	switch {
	case !ok:
		if required {
			r.fail("%s is missing", name)
		}
	case v.Type != gjson.String:
		r.fail("%s must be a string", name)
	case required && v.Str == "":
		r.fail("%s is empty", name)
	}
	return v.Str
}

// int reads a whole number in lo..hi; absent is the default def.
func (r *request) int(name string, lo, hi, def int64) int64 {
	v, ok := r.take(name)
	if !ok {
		return def
	}
	if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || v.Num < float64(lo) || v.Num > float64(hi) {
		r.fail("%s must be a whole number from %d to %d", name, lo, hi)
		return def
	}
	return int64(v.Num)
}

func (r *request) bool(name string) bool {
	v, ok := r.take(name)
	if ok && !v.IsBool() {
		r.fail("%s must be true or false", name)
	}
	return v.Type == gjson.True
}

func (r *request) texts(name string) []string {
	v, ok := r.take(name)
	if !ok {
		return nil
	}
	out := []string{}
	if !v.IsArray() {
		r.fail("%s must be an array of strings", name)
	}
	for _, e := range v.Array() {
		if e.Type != gjson.String {
			r.fail("%s must be an array of strings", name)
		}
		out = append(out, e.Str)
	}
	return out
}

// nested reads an object member with fn; absent is not read.
func (r *request) nested(name string, fn func(*request)) bool {
	v, ok := r.take(name)
	if !ok {
		return false
	}
	n := &request{family: r.family, op: r.op + ": " + name}
	if n.err = n.object(name, v); n.err == nil {
		fn(n)
	}
	if err := n.done(); err != nil && r.err == nil {
		r.err = err
	}
	return true
}

func (r *request) done() error {
	for name := range r.members {
		r.fail("unknown member %q", name)
		break
	}
	return r.err
}

func (r *request) scope() *abi.Scope {
	s := &abi.Scope{}
	if !r.nested("scope", func(n *request) {
		s.Agents, s.Keys, s.SpawnedBy = n.texts("agents"), n.texts("keys"), n.text("spawnedBy", false)
	}) {
		return nil
	}
	return s
}

func (r *request) mainKey() string {
	if key := r.text("mainKey", false); key != "" {
		return key
	}
	return sessionkey.DefaultMainKey
}

// sessionKey reads a request that has no other member.
func (r *request) sessionKey() (string, error) {
	key := r.text("sessionKey", true)
	return key, r.done()
}

func (r *request) resolve() (*abi.ResolveRequest, error) {
	q := &abi.ResolveRequest{
		SessionID: r.text("sessionId", true),
		Scope:     r.scope(),
		MainKey:   r.mainKey(),
		Global:    r.text("global", false),
	}
	return q, r.done()
}

func (r *request) list() (*abi.ListRequest, error) {
	q := &abi.ListRequest{
		Scope:           r.scope(),
		Kinds:           r.texts("kinds"),
		MainKey:         r.mainKey(),
		Global:          r.text("global", false),
		AgentID:         r.text("agentId", false),
		Label:           r.text("label", false),
		Search:          r.text("search", false),
		ActiveSince:     r.int("activeSince", 0, abi.MaxSafeInteger, 0),
		IncludeArchived: r.bool("includeArchived"),
		Limit:           int(r.int("limit", 1, abi.MaxListLimit, 0)),
		Messages:        int(r.int("messages", 0, abi.MaxListMessages, 0)),
		MaxBytes:        int(r.int("maxBytes", 1, abi.DefaultMaxBytes, abi.DefaultMaxBytes)),
	}
	r.nested("after", func(n *request) {
		q.After = &abi.Position{
			UpdatedAt: n.int("updatedAt", -abi.MaxSafeInteger, abi.MaxSafeInteger, 0),
			Key:       n.text("key", true),
		}
	})
	for _, kind := range q.Kinds {
		if !slices.Contains(sessionkey.Kinds, kind) {
			r.fail("unknown kind %q", kind)
		}
	}
	if q.Limit == 0 {
		r.fail("limit is missing")
	}
	return q, r.done()
}

func (r *request) history() (*abi.HistoryRequest, error) {
	q := &abi.HistoryRequest{
		SessionKey:   r.text("sessionKey", true),
		Before:       r.int("before", 0, abi.MaxSafeInteger, 0),
		Skip:         int(r.int("skip", 0, abi.MaxSafeInteger, 0)),
		Limit:        int(r.int("limit", 1, abi.MaxHistoryLimit, 0)),
		ExcludeRoles: r.texts("excludeRoles"),
		MaxBytes:     int(r.int("maxBytes", 1, abi.DefaultMaxBytes, abi.DefaultMaxBytes)),
	}
	if q.Limit == 0 {
		r.fail("limit is missing")
	}
	return q, r.done()
}

func (r *request) status() (string, error) {
	id := r.text("runId", true)
	return id, r.done()
}

func (r *request) create() (*abi.CreateRequest, error) {
	q := &abi.CreateRequest{
		AgentID:       r.text("agentId", true),
		Label:         r.word("label", abi.MaxLabel),
		Model:         r.word("model", abi.MaxName),
		ThinkingLevel: r.word("thinkingLevel", abi.MaxName),
		MaxActive:     int(r.int("maxActive", 0, math.MaxInt32, 0)),
	}
	if id, err := sessionkey.AgentID(q.AgentID); r.err == nil && (err != nil || id != q.AgentID) {
		r.fail("%q is no agent id", q.AgentID)
	}
	return q, r.done()
}

func (r *request) run() (*abi.RunRequest, error) {
	q := &abi.RunRequest{
		SessionKey:     r.text("sessionKey", true),
		Message:        r.prose("message", true),
		Context:        r.prose("context", false),
		Source:         r.text("source", false),
		Group:          r.text("group", true),
		NoTools:        r.bool("noTools"),
		TimeoutSeconds: int(r.int("timeoutSeconds", 0, math.MaxInt32, 0)),
	}
	if q.Group != abi.GroupNested && q.Group != abi.GroupSubagent {
		r.fail("unknown group %q; this host starts runs of tools in %q and %q", q.Group, abi.GroupNested, abi.GroupSubagent)
	}
	return q, r.done()
}

func (r *request) send() (*abi.SendRequest, error) {
	q := &abi.SendRequest{
		SessionKey: r.text("sessionKey", true),
		Text:       r.prose("text", true),
		RunID:      r.text("runId", false),
		AtCall:     r.bool("atCall"),
	}
	return q, r.done()
}

// word reads a short text, of at most so many characters.
func (r *request) word(name string, most int) string {
	s := r.text(name, false)
	if utf8.RuneCountInString(s) > most {
		r.fail("%s is longer than %d characters", name, most)
	}
	return s
}

// prose reads a text for agents or people.
func (r *request) prose(name string, required bool) string {
	s := r.text(name, required)
	switch {
	case len(s) > abi.MaxText:
		r.fail("%s is %d bytes; at most %d are accepted", name, len(s), abi.MaxText)
	case required && strings.TrimSpace(s) == "":
		r.fail("%s is blank", name)
	}
	return s
}

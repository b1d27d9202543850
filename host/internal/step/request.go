package step

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// request is one call of a host function. The message tables in package abi check its
// members; the methods below check the rules that a table cannot express.
type request struct {
	namespace, op string
	doc           gjson.Result
}

func parseRequest(namespace string, doc []byte) (*request, error) {
	if err := jsonstrict.Check(doc); err != nil {
		return nil, abi.NewError(abi.InvalidArgs, namespace+": the request is not strict JSON: "+err.Error())
	}
	r := &request{namespace: namespace, doc: gjson.ParseBytes(doc)}
	if !r.doc.IsObject() {
		return nil, abi.NewError(abi.InvalidArgs, r.namespace+": request must be an object")
	}
	op := r.doc.Get("op")
	switch {
	case !op.Exists():
		return nil, r.fail("op is missing")
	case op.Type != gjson.String:
		return nil, r.fail("op must be a string")
	case op.Str == "":
		return nil, r.fail("op is empty")
	}
	r.op = op.Str
	return r, nil
}

func (r *request) fail(format string, args ...any) error {
	return abi.NewError(abi.InvalidArgs, fmt.Sprintf(r.namespace+"."+r.op+": "+format, args...))
}

// read decodes the request. Unknown members are errors.
func (r *request) read(to jsonobject.Reader) error {
	p := to.ReadJSON(r.doc, jsonobject.Strict)
	if p == nil {
		return nil
	}
	prefix := ""
	if p.Path != "" {
		prefix = p.Path + ": "
	}
	switch p.Fault {
	case jsonobject.Unknown:
		return r.fail("%sunknown member %q", prefix, p.Name)
	case jsonobject.Missing:
		return r.fail("%s%s is missing", prefix, p.Name)
	case jsonobject.Empty:
		return r.fail("%s%s is empty", prefix, p.Name)
	}
	return r.fail("%s%s must be %s", prefix, p.Name, p.Kind)
}

func (r *request) get() (string, error) {
	var q abi.GetRequest
	err := r.read(&q)
	return q.SessionKey, err
}

func (r *request) waits() (string, error) {
	var q abi.WaitsRequest
	err := r.read(&q)
	return q.SessionKey, err
}

func (r *request) status() (string, error) {
	var q abi.StatusRequest
	err := r.read(&q)
	return q.RunID, err
}

// remove decodes a request to archive or delete a session.
func (r *request) remove() (string, error) {
	if r.op == abi.OpArchive {
		var q abi.ArchiveRequest
		err := r.read(&q)
		return q.SessionKey, err
	}
	var q abi.DeleteRequest
	err := r.read(&q)
	return q.SessionKey, err
}

func (r *request) resolve() (*abi.ResolveRequest, error) {
	q := &abi.ResolveRequest{}
	err := r.read(q)
	setMainKey(&q.MainKey)
	return q, err
}

func (r *request) list() (*abi.ListRequest, error) {
	q := &abi.ListRequest{MaxBytes: abi.DefaultMaxBytes}
	if err := r.read(q); err != nil {
		return nil, err
	}
	setMainKey(&q.MainKey)
	for _, kind := range q.Kinds {
		if !slices.Contains(sessionkey.Kinds, kind) {
			return nil, r.fail("unknown kind %q", kind)
		}
	}
	return q, nil
}

func setMainKey(key *string) {
	if *key == "" {
		*key = sessionkey.DefaultMainKey
	}
}

func (r *request) history() (*abi.HistoryRequest, error) {
	q := &abi.HistoryRequest{MaxBytes: abi.DefaultMaxBytes}
	return q, r.read(q)
}

func (r *request) create() (*abi.CreateRequest, error) {
	q := &abi.CreateRequest{}
	if err := r.read(q); err != nil {
		return nil, err
	}
	for _, word := range []struct {
		name, value string
		most        int
	}{{"label", q.Label, abi.MaxLabel}, {"model", q.Model, abi.MaxName}, {"thinkingLevel", q.ThinkingLevel, abi.MaxName}} {
		if utf8.RuneCountInString(word.value) > word.most {
			return nil, r.fail("%s is longer than %d characters", word.name, word.most)
		}
	}
	if id, err := sessionkey.AgentID(q.AgentID); err != nil || id != q.AgentID {
		return nil, r.fail("%q is not an agent id", q.AgentID)
	}
	return q, nil
}

func (r *request) run() (*abi.RunRequest, error) {
	q := &abi.RunRequest{}
	if err := r.read(q); err != nil {
		return nil, err
	}
	if err := r.checkProse("message", q.Message); err != nil {
		return nil, err
	}
	if len(q.Context) > abi.MaxText {
		return nil, r.tooLong("context", q.Context)
	}
	if q.Group != abi.GroupNested && q.Group != abi.GroupSubagent {
		return nil, r.fail("unknown group %q; tools can start runs in the groups %q and %q", q.Group, abi.GroupNested, abi.GroupSubagent)
	}
	return q, nil
}

func (r *request) send() (*abi.SendRequest, error) {
	q := &abi.SendRequest{}
	if err := r.read(q); err != nil {
		return nil, err
	}
	return q, r.checkProse("text", q.Text)
}

// checkProse returns an error if a text for agents or people is blank or too long.
func (r *request) checkProse(name, text string) error {
	switch {
	case len(text) > abi.MaxText:
		return r.tooLong(name, text)
	case strings.TrimSpace(text) == "":
		return r.fail("%s is blank", name)
	}
	return nil
}

func (r *request) tooLong(name, text string) error {
	return r.fail("%s is %d bytes; at most %d are accepted", name, len(text), abi.MaxText)
}

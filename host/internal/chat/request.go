package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/store"
)

// request is a message that passed all checks that need no store.
type request struct {
	method  string
	key     string // canonical
	agentID string
	text    string
	from    string
	target  abi.Target
	deliver bool
	id      string   // may be empty
	command *command // nil: ordinary text
}

func newRequest(c *config.Config, method, key, text, id string) (*request, error) {
	r := &request{method: method, text: strings.ToValidUTF8(text, "\uFFFD")}
	var err error
	if r.key, r.agentID, err = resolve(c, key); err != nil {
		return nil, err
	}
	if len(c.Agents.List) > 0 && !slices.Contains(c.Agents.IDs(), r.agentID) {
		return nil, invalid("agent %q is not configured; configured: %s", r.agentID, strings.Join(c.Agents.IDs(), ", "))
	}
	if strings.TrimSpace(r.text) == "" {
		return nil, invalid("the message is blank; write what the agent is to read")
	}
	if len(r.text) > abi.MaxText {
		return nil, invalid("the message is %d bytes long; at most %d are accepted", len(r.text), abi.MaxText)
	}
	r.id, err = checkID("the request id", id)
	return r, err
}

// resolve returns the canonical key, and the agent whose session it is (S1).
func resolve(c *config.Config, text string) (key, agentID string, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", "", invalid(`sessionKey is missing; name the session, such as "main"`)
	}
	keys := c.Keys()
	if key, err = keys.Canonical(text, ""); err != nil {
		return "", "", invalid("sessionKey %q %v", truncate(text), err)
	}
	if agentID, _, _ = sessionkey.Split(key); agentID == "" {
		agentID = keys.Agent() // the session "global" (S1.3) belongs to the default agent
	}
	return key, agentID, nil
}

// checkID trims and checks an id or address. It may be empty.
func checkID(name, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	if err := sessionkey.Check(text); err != nil {
		return "", invalid("%s %v", name, err)
	}
	return text, nil
}

// sender checks the sender's id. A blank id must not pass for the operator, whose id is
// empty.
func sender(from string) (string, error) {
	if from != "" && strings.TrimSpace(from) == "" {
		return "", invalid("from is blank; give the sender's id, or leave it out when the operator writes")
	}
	return checkID("from", from)
}

// previous returns the answer to an earlier request with the same id, or nil.
func (r *request) previous(tx store.Tx) (*Accepted, error) {
	if r.id == "" {
		return nil, nil
	}
	run, err := tx.RunOf(r.callKey())
	if run == nil || err != nil {
		return nil, err
	}
	if run.Digest != r.digest() {
		return nil, invalid("the request id %q belongs to another request; use a new one", truncate(r.id))
	}
	if run.Group == "" {
		return &Accepted{Status: StatusOK, Reply: run.Reply}, nil
	}
	return &Accepted{RunID: run.ID, Status: StatusAccepted}, nil
}

// callKey returns the request's key. All requests have the operator's scope.
func (r *request) callKey() store.CallKey {
	return store.CallKey{Scope: store.ScopeOf(&abi.Caller{Operator: true}), ID: r.id}
}

// digest identifies the content of a request, to detect different requests with one id.
func (r *request) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %t", r.method, r.key, r.text, r.from,
		[]string{r.target.Channel, r.target.To, r.target.AccountID, r.target.ThreadID}, r.deliver))
	return hex.EncodeToString(sum[:])
}

func (r *request) run(id string, now int64) *store.Run {
	run := &store.Run{
		ID: id, SessionKey: r.key, AgentID: r.agentID, Group: abi.GroupMain,
		Scope:   store.ScopeOf(&abi.Caller{Operator: true}),
		Message: r.text, Deliver: r.deliver,
		Status: abi.RunQueued, QueuedAt: now,
	}
	if r.id != "" {
		run.Request, run.Digest = r.callKey(), r.digest()
	}
	return run
}

// commandRun returns the run that records a command with an id, so that a repetition
// does not change the session again. The run has no group, because no agent executes it.
func (r *request) commandRun(id string, now int64) *store.Run {
	run := r.run(id, now)
	run.Group, run.Deliver = "", false
	run.Status, run.StartedAt, run.EndedAt, run.Reply = abi.RunDone, now, now, r.command.reply
	return run
}

func invalid(format string, args ...any) error {
	return abi.NewError(abi.InvalidArgs, fmt.Sprintf(format, args...))
}

// truncate bounds untrusted texts in error messages.
func truncate(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

package run

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// tools implements the session tools for the agent of one attempt.
type tools struct {
	a    *attempt
	list []abi.Tool
}

var _ runner.Tools = (*tools)(nil)

// tools returns the agent's tools, or nil if the agent has none.
func (a *attempt) tools() *tools {
	if a.run.NoTools || a.m.o.Tools == nil {
		return nil
	}
	list := a.m.o.Tools(a.caller)
	if len(list) == 0 {
		return nil
	}
	return &tools{a, list}
}

// List returns the tools that the run's session may use.
func (t *tools) List() []abi.Tool { return t.list }

// Call calls a tool as the run.
func (t *tools) Call(ctx context.Context, tool string, args json.RawMessage) (*runner.Answer, error) {
	if err := t.a.claim.Err(); err != nil {
		return nil, err
	}
	return t.a.m.o.Call(ctx, t.a.caller, tool, args)
}

// Access returns the gateway's address and the attempt's token.
func (t *tools) Access() (url, secret string) {
	if t.a.m.o.URL != nil {
		url = t.a.m.o.URL()
	}
	if url == "" {
		return "", ""
	}
	return url, t.a.access()
}

// tokenHash is the hash of a token's text. Manager.tokens is indexed by it.
type tokenHash [sha256.Size]byte

// token authenticates an attempt while its claim is held.
type token struct {
	text string
	hash tokenHash
}

// access returns the attempt's token. The first call creates it.
func (a *attempt) access() string {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	if a.token == nil && a.calls != nil {
		var secret [32]byte
		_, _ = rand.Read(secret[:]) // never fails
		text := base64.RawURLEncoding.EncodeToString(secret[:])
		a.token = &token{text, sha256.Sum256([]byte(text))}
		a.m.tokens[a.token.hash] = a
	}
	if a.token == nil {
		return ""
	}
	return a.token.text
}

// revoke revokes the token and stops the numbering of tool calls. The caller must hold
// Manager.mu.
func (a *attempt) revoke() {
	if a.token != nil {
		delete(a.m.tokens, a.token.hash)
	}
	a.calls, a.token = nil, nil
}

// Identify returns the caller that a token authenticates: the run whose attempt has
// this token. It returns false when that attempt is no longer active.
func (m *Manager) Identify(text string) (abi.Caller, bool) {
	m.mu.Lock()
	a := m.tokens[sha256.Sum256([]byte(text))]
	m.mu.Unlock()
	if a == nil || a.claim.Err() != nil {
		return abi.Caller{}, false
	}
	return a.caller, true
}

// ToolCall identifies a tool call of an attempt that is executing here.
type ToolCall struct {
	// ID is the call id: the n-th call with this tool and these arguments has the
	// same id in every attempt, so its effects happen once (S10.2).
	ID string
	// Check returns an error, in the transaction that commits the call, when the
	// attempt is no longer the newest.
	Check func(store.Tx) error
}

// ToolCall numbers a call that the attempt of caller c makes with this tool and this
// argument digest. It returns nil when that attempt is not executing here.
func (m *Manager) ToolCall(c *abi.Caller, tool, digest string) *ToolCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.attempts[c.RunID]
	if a == nil || a.calls == nil || a.run.Attempt != c.Attempt || a.claim.Err() != nil {
		return nil
	}
	name := c.RunID + "/" + tool + "/" + digest + "/"
	a.calls[name]++
	return &ToolCall{ID: name + strconv.Itoa(a.calls[name]), Check: a.claim.Check}
}

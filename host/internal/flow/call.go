package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store"
)

// Call is a tool call that may write.
type Call struct {
	Key    store.CallKey
	Tool   string
	Args   []byte
	Digest string // digest of Tool and Args; see Digest
	Caller abi.Caller
	// Check, if not nil, runs in the transaction that accepts the call. It returns an
	// error when the caller may no longer make the call.
	Check func(store.Tx) error
}

// Answer is the answer of a call. FlowID is empty when the call was refused.
type Answer struct {
	FlowID string
	Result []byte
	Code   abi.Code
}

// maxTries is the maximum number of times that a step runs when its commits conflict.
const maxTries = 5

// answerRetention is how long a call with a repeated id gets the recorded answer
// (S4.4).
const answerRetention = 24 * time.Hour

// errCallExists is the error of a first step during which another call with the same id
// was committed.
var errCallExists = errors.New("flow: the call exists already")

// Accept begins a flow, or finds the flow of an earlier call with the same id. It
// returns the answer if there already is one, and otherwise the id of the flow, for
// Await. It returns abi.InvalidArgs when the id was used with other arguments,
// abi.Conflict when the step's snapshot was outdated at every try, and the plugin's
// own errors.
func (m *Manager) Accept(ctx context.Context, c *Call) (answer *Answer, flowID string, err error) {
	f, answer, err := m.accept(ctx, c)
	if err != nil || answer != nil {
		return answer, "", err
	}
	if !settled(f) {
		return nil, f.ID, nil
	}
	answer, err = answerOf(f)
	return answer, "", err
}

// accept returns the flow of a call, or the answer of a refused call.
func (m *Manager) accept(ctx context.Context, c *Call) (*store.Flow, *Answer, error) {
	known, err := m.findCall(ctx, c.Key)
	if err != nil {
		return nil, nil, err
	}
	if known == nil {
		f, answer, err := m.begin(ctx, c)
		if !errors.Is(err, errCallExists) {
			return f, answer, err
		}
		if known, err = m.findCall(ctx, c.Key); err != nil {
			return nil, nil, err
		}
	}
	if known == nil || known.Digest != c.Digest {
		return nil, nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("the call id %q was used before with another tool or other arguments; use a new one for a new call", c.Key.ID))
	}
	return known, nil, nil
}

// Await waits for the answer of a flow. It returns ctx's error, which ends only the
// wait, and abi.Limit or abi.Conflict when the flow is parked or was dropped without
// an answer.
func (m *Manager) Await(ctx context.Context, flowID string) (*Answer, error) {
	f, err := m.await(ctx, flowID, settled)
	if err != nil {
		return nil, err
	}
	return answerOf(f)
}

// Digest identifies a tool and its arguments. Equivalent JSON texts have the same
// digest.
func Digest(tool string, args []byte) string {
	var v any = map[string]any{}
	canonical := args
	if len(args) == 0 || json.Unmarshal(args, &v) == nil {
		canonical, _ = json.Marshal(unsignZero(v)) // sorts members; cannot fail for decoded JSON
	}
	sum := sha256.Sum256(append([]byte(tool+"\n"), canonical...))
	return hex.EncodeToString(sum[:16])
}

// unsignZero replaces every negative zero by zero.
func unsignZero(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0 // -0 + 0 is 0
	case []any:
		for i := range v {
			v[i] = unsignZero(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = unsignZero(v[name])
		}
	}
	return v
}

// findCall returns the flow that a call id began, or nil if that flow's answer has
// expired.
func (m *Manager) findCall(ctx context.Context, key store.CallKey) (f *store.Flow, err error) {
	view, err := m.options.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if f, err = view.FlowOf(ctx, key); err != nil || f == nil || m.expired(f) {
		return nil, err
	}
	return f, nil
}

func (m *Manager) expired(f *store.Flow) bool {
	return f.Ended() && m.now()-f.EndedAt > answerRetention.Milliseconds()
}

// begin runs the first step and commits it. A step without effects and without a
// wait refuses the call: the caller gets the answer, and nothing is stored.
func (m *Manager) begin(ctx context.Context, c *Call) (*store.Flow, *Answer, error) {
	now := m.now()
	f := store.Flow{
		ID: "f_" + m.options.NewID(), Call: c.Key, Digest: c.Digest, Tool: c.Tool, Caller: c.Caller,
		AcceptedAt: now,
	}
	v := m.options.Versions.Use()
	defer v.Release()
	for try := 1; ; try++ {
		s := m.options.Settings(v, c.Tool)
		in := &abi.CallInput{
			FlowID: f.ID, Step: 1, CallID: c.Key.ID, Now: m.now(), AcceptedAt: now,
			Tool: c.Tool, Args: c.Args, Caller: c.Caller, Config: s.Config,
		}
		result, err := m.options.Steps.Run(ctx, v, m.input(abi.ExportCall, in.AppendJSON(nil), &f, s))
		if err != nil {
			return nil, nil, err
		}
		if err := checkAnswer(&f, result); err != nil {
			return nil, nil, err
		}
		if result.Effects() == 0 && result.Wait == nil {
			return nil, &Answer{Result: result.Result, Code: result.Code}, nil
		}
		var row *store.Flow
		err = m.options.Store.Update(ctx, func(tx store.Tx) (err error) {
			if c.Check != nil {
				if err := c.Check(tx); err != nil {
					return err
				}
			}
			row, err = m.insert(tx, f, result)
			return err
		})
		switch {
		case err == nil:
			m.changed(f.ID)
			return row, nil, nil
		case !errors.Is(err, abi.Conflict) || try == maxTries:
			return nil, nil, err
		}
	}
}

// insert commits a first step and returns the flow's new row. If an expired flow has
// the call id, insert removes the id from it.
func (m *Manager) insert(tx store.Tx, f store.Flow, result *step.Result) (*store.Flow, error) {
	other, err := tx.FlowOf(f.Call)
	if err != nil {
		return nil, err
	}
	if other != nil {
		if !m.expired(other) {
			return nil, errCallExists
		}
		other.Call = store.CallKey{}
		if err := tx.PutFlow(other); err != nil {
			return nil, err
		}
	}
	return &f, m.advance(tx, &f, result)
}

// answerOf returns the answer of a settled flow, or why it has none.
func answerOf(f *store.Flow) (*Answer, error) {
	switch {
	case f.Answered():
		return &Answer{FlowID: f.ID, Result: f.Answer, Code: f.Code}, nil
	case f.Status == store.FlowParked:
		return nil, abi.NewError(abi.Limit, fmt.Sprintf("the call was accepted, but its flow %s is parked: %s; "+
			"do not send it again: parley flows --failed shows it, parley flows retry %s resumes it", f.ID, f.Error, f.ID))
	case f.Status == store.FlowDropped:
		return nil, abi.NewError(abi.Conflict, "flow "+f.ID+" was ended by the operator before it had an answer; the runs that it had queued will still be executed: do not repeat the call")
	}
	return nil, abi.NewError(abi.Internal, "flow "+f.ID+" ended without an answer")
}

// settled reports whether waiting for the answer is over: the flow has an answer, or
// gets none unless the operator intervenes.
func settled(f *store.Flow) bool {
	return f.Answered() || f.Ended() || f.Status == store.FlowParked
}

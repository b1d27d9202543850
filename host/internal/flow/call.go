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
	Digest string // Digest of Tool and Args
	Caller abi.Caller
	// Check, unless nil, fails in the transaction that accepts the call when its
	// caller may not make it any more.
	Check func(store.Tx) error
}

// Answer is a call's answer. FlowID is empty when the call was never accepted:
// then the answer says why.
type Answer struct {
	FlowID string
	Result []byte
	Code   abi.Code
}

// maxTries is how often a step is run whose commit met a conflict.
const maxTries = 5

// keepAnswers is how long a call id gets the recorded answer (S4.4).
const keepAnswers = 24 * time.Hour

// errJoined ends a first step whose call id another call has committed meanwhile.
var errJoined = errors.New("flow: the call is there already")

// Accept begins a flow, or finds the one that the call's id began. It returns the
// call's answer if there is one already, otherwise the id of the flow that will have
// it (Await). It fails with abi.InvalidArgs when the id came with other arguments
// before, with abi.Conflict when the step's snapshot was outdated every time, and
// with the plugin's own errors.
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

// accept returns the flow of a call, or the answer of a call that was refused.
func (m *Manager) accept(ctx context.Context, c *Call) (*store.Flow, *Answer, error) {
	known, err := m.known(ctx, c.Key)
	if err != nil {
		return nil, nil, err
	}
	if known == nil {
		f, answer, err := m.begin(ctx, c)
		if !errors.Is(err, errJoined) {
			return f, answer, err
		}
		if known, err = m.known(ctx, c.Key); err != nil {
			return nil, nil, err
		}
	}
	if known == nil || known.Digest != c.Digest {
		return nil, nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("the call id %q was used before with another tool or other arguments; use a new one for a new call", c.Key.ID))
	}
	return known, nil, nil
}

// Await waits for the answer of a flow. It fails with ctx's error, which ends the
// wait alone, and with abi.Limit or abi.Conflict when there will be no answer.
func (m *Manager) Await(ctx context.Context, flowID string) (*Answer, error) {
	f, err := m.await(ctx, flowID, settled)
	if err != nil {
		return nil, err
	}
	return answerOf(f)
}

// Digest identifies tool and arguments: the same JSON, however it is written,
// has the same one.
func Digest(tool string, args []byte) string {
	var v any = map[string]any{}
	canonical := args
	if len(args) == 0 || json.Unmarshal(args, &v) == nil {
		canonical, _ = json.Marshal(unsigned(v)) // sorts members; what was JSON can be written as JSON
	}
	sum := sha256.Sum256(append([]byte(tool+"\n"), canonical...))
	return hex.EncodeToString(sum[:16])
}

// unsigned makes every zero the same.
func unsigned(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0 // -0 + 0 is 0
	case []any:
		for i := range v {
			v[i] = unsigned(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = unsigned(v[name])
		}
	}
	return v
}

// known returns the flow that a call id began, unless it is too old to count.
func (m *Manager) known(ctx context.Context, key store.CallKey) (f *store.Flow, err error) {
	view, err := m.options.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if f, err = view.FlowOf(ctx, key); err != nil || f == nil || m.forgotten(f) {
		return nil, err
	}
	return f, nil
}

func (m *Manager) forgotten(f *store.Flow) bool {
	return f.Ended() && m.now()-f.EndedAt > keepAnswers.Milliseconds()
}

// begin runs the first step and commits it. A step that wants neither effects
// nor a wait has refused the call: it is answered, and nothing is stored.
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
		if err := answers(&f, result); err != nil {
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

// insert commits a first step and returns the flow as it then stands. The row
// takes the call's id from one that is too old to count.
func (m *Manager) insert(tx store.Tx, f store.Flow, result *step.Result) (*store.Flow, error) {
	other, err := tx.FlowOf(f.Call)
	if err != nil {
		return nil, err
	}
	if other != nil {
		if !m.forgotten(other) {
			return nil, errJoined
		}
		other.Call = store.CallKey{}
		if err := tx.PutFlow(other); err != nil {
			return nil, err
		}
	}
	return &f, m.advance(tx, &f, result)
}

// answerOf returns the answer of a settled flow.
func answerOf(f *store.Flow) (*Answer, error) {
	switch {
	case f.Answered():
		return &Answer{FlowID: f.ID, Result: f.Answer, Code: f.Code}, nil
	case f.Status == store.FlowParked:
		return nil, abi.NewError(abi.Limit, fmt.Sprintf("the call was accepted, but its flow %s is parked: %s; "+
			"do not send it again: parley flows --failed shows it, parley flows retry %s goes on", f.ID, f.Error, f.ID))
	case f.Status == store.FlowDropped:
		return nil, abi.NewError(abi.Conflict, "flow "+f.ID+" was ended by the operator before it had an answer; what it had sent was received and is answered all the same: do not send it again")
	}
	return nil, abi.NewError(abi.Internal, "flow "+f.ID+" ended without an answer")
}

// settled reports whether there is no use in waiting for the answer.
func settled(f *store.Flow) bool {
	return f.Answered() || f.Ended() || f.Status == store.FlowParked
}

package verify

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/refhost"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/host/internal/engine"
)

// Bounds of a module's work in one vector. Vectors need far less (at most 42 steps and
// 1.3 MB). The bounds stop a module that waits again and again, because the reference
// host's clock is simulated.
const (
	maxCalls = 1000
	maxBytes = 16 << 20 // output and requests together
)

// try runs a vector and returns its problems. If another vector must have the same
// answers, try runs that vector too and compares the answers.
func (s *set) try(ctx context.Context, v *vector.Vector, run Run) []string {
	answers, problems := runVector(ctx, v, run)
	if other := s.byID[v.SameAs]; other != nil && len(problems) == 0 {
		var otherAnswers []vector.Answer
		if otherAnswers, problems = runVector(ctx, other, run); len(problems) == 0 {
			problems = vector.Same(answers, otherAnswers, other.ID)
		}
	}
	return problems
}

// runVector runs a vector in a new reference host.
func runVector(ctx context.Context, v *vector.Vector, run Run) (answers []vector.Answer, problems []string) {
	// The reference host is written for readability and may panic on an unexpected
	// answer. An untrusted module must not be able to crash the program.
	defer func() {
		if p := recover(); p != nil {
			answers, problems = nil, []string{fmt.Sprintf("the reference host panicked on the module's answer: %v", p)}
		}
	}()
	g := &guest{ctx: ctx, run: run}
	h, err := refhost.New(v, g.call)
	if err != nil {
		return nil, []string{err.Error()}
	}
	answers, problems = vector.Play(v, h, nil)
	if g.failed != nil { // otherwise a vector that expects a refusal could accept this failure
		problems = []string{g.failed.Error()}
	}
	return answers, problems
}

// guest runs the module in one reference host and enforces the bounds.
type guest struct {
	ctx          context.Context
	run          Run
	calls, bytes int
	exceeded     error // set when maxBytes is exceeded
	failed       error // the first failure; later calls return it
}

// call implements refhost.Plugin.
func (g *guest) call(export string, input []byte, h refhost.HostFunctions) ([]byte, error) {
	if g.failed != nil {
		return nil, g.failed
	}
	if g.calls++; g.calls > maxCalls {
		g.failed = fmt.Errorf("the module has not ended after %d steps", maxCalls)
		return nil, g.failed
	}
	var functions engine.HostFunctions
	if h != nil {
		functions = hostFunctions{g, h}
	}
	output, err := g.run(g.ctx, export, input, functions)
	g.count(output)
	switch {
	case g.exceeded != nil:
		g.failed = g.exceeded
	case err != nil:
		g.failed = err
	default:
		if err := jsonstrict.Check(output); err != nil {
			g.failed = fmt.Errorf("%s: the output is not strict JSON: %w", export, err)
		}
	}
	return output, g.failed
}

func (g *guest) count(doc []byte) {
	if g.bytes += len(doc); g.bytes > maxBytes {
		g.exceeded = fmt.Errorf("the module's requests and outputs have more than %d bytes", maxBytes)
	}
}

// hostFunctions adapts the host functions of the reference host to
// engine.HostFunctions, for one step.
type hostFunctions struct {
	guest *guest
	host  refhost.HostFunctions
}

var _ engine.HostFunctions = hostFunctions{}

// Call implements engine.HostFunctions.
func (f hostFunctions) Call(ctx context.Context, namespace string, request []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.guest.count(request); f.guest.exceeded != nil {
		return nil, f.guest.exceeded
	}
	if err := jsonstrict.Check(request); err != nil {
		return abi.AppendError(nil, abi.InvalidArgs, "the request is not strict JSON: "+err.Error()), nil
	}
	return f.host.Call(namespace, request), nil
}

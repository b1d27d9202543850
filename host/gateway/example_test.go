package gateway_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
)

// hello implements gateway.Tools with one tool, which greets its caller.
type hello struct{}

func (hello) Tools() []abi.Tool { return []abi.Tool{{Name: "hello", ReadOnly: true}} }

func (h hello) ToolsFor(context.Context, abi.Caller) ([]abi.Tool, error) { return h.Tools(), nil }

func (hello) Call(_ context.Context, c *host.Call) (*host.Answer, error) {
	if c.Tool != "hello" {
		return nil, abi.NewError(abi.NotFound, "there is no tool "+c.Tool)
	}
	return &host.Answer{Result: []byte(`{"hello":"` + c.Caller.SessionKey + `"}`)}, nil
}

// A front end identifies the caller, enters the request, makes the call, and reports
// errors by their class. This front end reads lines, each with a session and a tool.
func ExampleAdmission() {
	a := gateway.NewAdmission(hello{}, &gateway.AdmissionOptions{
		Keys: func() sessionkey.Settings { return sessionkey.Settings{} }, Bound: 16,
	})
	defer a.Close()
	serve := func(line string) (*host.Answer, error) {
		session, tool, _ := strings.Cut(line, " ")
		caller, err := a.As(gateway.OperatorIdentity(), session)
		if err != nil {
			return nil, err
		}
		request, err := a.Enter(context.Background())
		if err != nil {
			return nil, err
		}
		defer request.Done()
		return request.Call(&host.Call{Tool: tool, Caller: caller})
	}
	for _, line := range []string{"main hello", "agent:ops:main hello", "main bye", "current hello"} {
		answer, err := serve(line)
		switch class, text := gateway.Classify(err); {
		case err == nil:
			fmt.Println("OK", string(answer.Result))
		case class == gateway.NotFound:
			fmt.Println("NO", text)
		default:
			fmt.Println("BAD", text)
		}
	}
	// Output:
	// OK {"hello":"agent:main:main"}
	// OK {"hello":"agent:ops:main"}
	// NO there is no tool bye
	// BAD sessionKey is a reserved word, not a session key
}

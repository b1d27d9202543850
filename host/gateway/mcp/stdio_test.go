package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestStdio(t *testing.T) {
	for _, version := range []string{"", "2025-06-18"} {
		t.Run("protocol "+version, func(t *testing.T) {
			f := &fake{}
			s := newServer(t, f)
			fromClient, toServer := io.Pipe()
			fromServer, toClient := io.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- s.ServeStdio(t.Context(), sandboxed, fromClient, toClient)
				toClient.Close()
			}()
			session := connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, version)
			testSession(t, f, session, "agent:ops:main")
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// rpc is a JSON-RPC response.
type rpc struct {
	ID     any
	Result map[string]any
	Error  *struct {
		Code    int64
		Message string
	}
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// A cancelled call receives no answer, and the end of the input does not wait for one.
func TestStdioCancelled(t *testing.T) {
	for _, id := range []string{`1`, `"one"`} {
		f := &fake{waits: make(chan string)}
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		s := newServer(t, f)
		go func() {
			_ = s.ServeStdio(t.Context(), sandboxed, fromClient, toClient)
			toClient.Close()
		}()
		go func() {
			io.WriteString(toServer, initialize+`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"wait","arguments":{}}}`+"\n")
			<-f.waits
			io.WriteString(toServer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`+"\n")
			io.WriteString(toServer, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`+"\n")
			toServer.Close()
		}()
		var answered []any
		for out := bufio.NewScanner(fromServer); out.Scan(); {
			var m rpc
			if err := json.Unmarshal(out.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			answered = append(answered, m.ID)
		}
		if len(answered) != 2 || answered[0] != 0.0 || answered[1] != 2.0 {
			t.Errorf("the calls %v were answered, with %s cancelled", answered, id)
		}
	}
}

// Invalid lines are answered with an error and do not end the session. The end of the
// input waits for answers.
func TestStdioBadLines(t *testing.T) {
	lines := []struct {
		text    string
		id      any
		code    int64
		message string
	}{
		{"garbage", nil, jsonrpc.CodeParseError, "not strict JSON"},
		{"{", nil, jsonrpc.CodeParseError, "not strict JSON"},
		{"\xff\xfe", nil, jsonrpc.CodeParseError, "not strict JSON"},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":1,"n":2}}}`, 7.0, jsonrpc.CodeParseError, "not strict JSON"},
		{`{"jsonrpc":"2.0","id":"a\"b","method":"tools/list","method":"ping"}`, `a"b`, jsonrpc.CodeParseError, "not strict JSON"},
		{`[]`, nil, jsonrpc.CodeInvalidRequest, "not a JSON-RPC message"},
		{`{}`, nil, jsonrpc.CodeInvalidRequest, "not a JSON-RPC message"},
		{`{"id":8,"method":"ping"}`, 8.0, jsonrpc.CodeInvalidRequest, "not a JSON-RPC message"},
		{strings.Repeat("x", 3<<20), nil, jsonrpc.CodeInvalidRequest, "longer than 2097152 bytes"},
	}
	var in bytes.Buffer
	in.WriteString(initialize)
	for _, l := range lines {
		in.WriteString(l.text + "\n\r\n") // blank lines are ignored
	}
	in.WriteString(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"echo","arguments":null}}`) // no line feed
	var out bytes.Buffer
	if err := newServer(t, &fake{}).ServeStdio(t.Context(), sandboxed, &in, &out); err != nil {
		t.Fatal(err)
	}
	var answers []rpc
	called := false
	for sc := bufio.NewScanner(&out); sc.Scan(); {
		var a rpc
		if err := json.Unmarshal(sc.Bytes(), &a); err != nil {
			t.Fatalf("%v in %s", err, sc.Bytes())
		}
		if a.Error != nil {
			answers = append(answers, a)
		}
		called = called || a.ID == 99.0 && a.Result["isError"] == nil
	}
	if !called {
		t.Error("the call after the bad lines was not answered")
	}
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d bad lines: %+v", len(answers), len(lines), answers)
	}
	for i, a := range answers {
		l := lines[i]
		if a.ID != l.id || a.Error == nil || a.Error.Code != l.code || !strings.Contains(a.Error.Message, l.message) {
			t.Errorf("line %d: %+v %+v, want id %v, code %d, %q", i, a, a.Error, l.id, l.code, l.message)
		}
	}
}

// The end of the input does not cancel active calls; the end of ctx does.
func TestStdioEnd(t *testing.T) {
	call := initialize + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{}}}` + "\n"
	t.Run("of input", func(t *testing.T) {
		f := &fake{gate: make(chan struct{})}
		in := &atEnd{Reader: strings.NewReader(call), then: func() { close(f.gate) }}
		var out bytes.Buffer
		if err := newServer(t, f).ServeStdio(t.Context(), sandboxed, in, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"id":1,"result"`) {
			t.Errorf("the call was not answered: %s", out.String())
		}
	})
	t.Run("of context", func(t *testing.T) {
		f := &fake{gate: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		in := &atEnd{Reader: strings.NewReader(call), then: cancel}
		if err := newServer(t, f).ServeStdio(ctx, sandboxed, in, io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}

// atEnd calls then at the end of its reader.
type atEnd struct {
	io.Reader
	then func()
	once sync.Once
}

func (r *atEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		r.once.Do(r.then)
	}
	return n, err
}

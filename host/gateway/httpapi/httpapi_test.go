package httpapi

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestNewRequiresOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []*Options{nil, {}, {Tools: newFake()}} {
		if a, err := New(o); a != nil || err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	url := newServer(t, newAPI(t, newFake()))
	for _, c := range []struct {
		method, path  string
		status        int
		allow         string
		kind, message string
	}{
		{"GET", "/tools/invoke", 405, "POST", "method_not_allowed", "use POST"},
		{"PUT", "/mcp", 405, "GET, POST, DELETE", "method_not_allowed", "use GET, POST, DELETE"},
		{"POST", "/healthz", 405, "GET, HEAD", "method_not_allowed", "use GET, HEAD"},
		{"GET", "/", 404, "", "not_found", "unknown path; this gateway serves"},
		{"GET", "/tools/invoke/", 404, "", "not_found", "unknown path; this gateway serves"},
		{"GET", "/..%2f", 404, "", "not_found", "unknown path; this gateway serves"},
		{"POST", "/v1/call", 404, "", "not_found", "unknown path; this gateway serves"},
		{"POST", "/mcp", 401, "", "unauthorized", "no bearer token"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			r := request{c.method, c.path, nil, nil}.send(t, url)
			if r.status != c.status || r.header.Get("Allow") != c.allow {
				t.Errorf("status %d, Allow %q", r.status, r.header.Get("Allow"))
			}
			isFailure(t, r, c.kind, c.message)
		})
	}
	// The network does not serve the endpoints of the local user, not even to the operator.
	network := newAPI(t, newFake())
	for path := range NewLocal(newFake(), newFake(), nil).routes {
		if strings.HasPrefix(path, "/v1/agent") || strings.HasPrefix(path, "/v1/chat/") || path == "/v1/plugins" || path == "/v1/sessions/patch" {
			continue
		}
		if _, ok := network.routes[path]; ok {
			t.Errorf("the network serves %s", path)
		}
		r := request{"GET", path, []string{"Authorization: Bearer op"}, nil}.send(t, url)
		if r.status != 404 {
			t.Errorf("%s: status %d", path, r.status)
		}
		isFailure(t, r, "not_found", "unknown path; this gateway serves")
	}
	r := request{"GET", "/healthz", nil, nil}.send(t, url)
	if r.status != 200 || r.body != `{"status":"ok","plugin":{"name":"parley","version":"1.2.3"},"abi":1}` {
		t.Errorf("health: %d %s", r.status, r.body)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	url := newServer(t, newAPI(t, newFake()))
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"plain", nil, 200},
		{"localhost", []string{"Host: LOCALHOST:" + port}, 200},
		{"IPv6", []string{"Host: [::1]:" + port}, 200},
		{"own origin", []string{"Origin: " + url}, 200},
		{"another name", []string{"Host: evil.example"}, 403},
		{"another address", []string{"Host: 192.0.2.1:80"}, 403},
		{"another name and its origin", []string{"Host: evil.example", "Origin: http://evil.example"}, 403},
		{"another origin", []string{"Origin: https://evil.example"}, 403},
		{"another port", []string{"Origin: http://127.0.0.1:1"}, 403},
		{"null origin", []string{"Origin: null"}, 403},
		{"malformed origin", []string{"Origin: http://[::"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request{"GET", "/healthz", c.headers, nil}.send(t, url)
			if r.status != c.status {
				t.Errorf("status %d, %s", r.status, r.body)
			}
			if c.status != 200 {
				isFailure(t, r, "forbidden", "")
			}
		})
	}
}

// listen serves the API on a TCP port. stop ends the server; closed is closed after the
// listener.
func listen(t *testing.T, a *API) (address string, stop func() error, closed <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &closeNotifier{Listener: l, closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, n) }()
	return l.Addr().String(), func() error { cancel(); return <-done }, n.closed
}

// closeNotifier is a listener that closes a channel when it is closed.
type closeNotifier struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

func (n *closeNotifier) Close() error {
	defer n.once.Do(func() { close(n.closed) })
	return n.Listener.Close()
}

// raw sends bytes and returns the status line of the answer.
func raw(t *testing.T, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }() // the server may close the connection first
	answer, err := io.ReadAll(c)
	if err != nil && len(answer) == 0 {
		return ""
	}
	status, _, _ := strings.Cut(string(answer), "\r\n")
	return status
}

func TestServeBadClients(t *testing.T) {
	t.Parallel()
	a := newAPI(t, newFake())
	a.bodyTimeout = 50 * time.Millisecond
	address, stop, _ := listen(t, a)
	const head = "POST /tools/invoke HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer op\r\n"
	for name, c := range map[string]struct{ text, want string }{
		"garbage":               {"\x16\x03\x01 garbage\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"huge header":           {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 200<<10) + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		"slow body":             {head + "Content-Length: 100\r\n\r\n{", "HTTP/1.1 408 Request Timeout"},
		"slow body, no length":  {head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "HTTP/1.1 408 Request Timeout"},
		"bad chunks":            {head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "HTTP/1.1 400 Bad Request"},
		"excessive length":      {head + "Content-Length: 99999999999\r\n\r\n", "HTTP/1.1 413 Request Entity Too Large"},
		"no host":               {"GET /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request: missing required Host header"},
		"slow body to /mcp":     {strings.Replace(head, "/tools/invoke", "/mcp", 1) + "Content-Length: 100\r\n\r\n{", "HTTP/1.1 408 Request Timeout"},
		"slow body, no token":   {"POST /tools/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", "HTTP/1.1 401 Unauthorized"},
		"control in the header": {head + "Idempotency-Key: a\x01b\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := raw(t, address, c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if r := (request{"GET", "/healthz", nil, nil}).send(t, "http://"+address); r.status != 200 {
		t.Errorf("a request after the bad ones: %d", r.status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A client that disconnects cancels its call.
func TestClientDisconnects(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", url+"/tools/invoke", strings.NewReader(`{"tool":"echo","args":{"do":"wait"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer op")
	go func() { <-f.started; cancel() }()
	if _, err := http.DefaultClient.Do(r); err == nil {
		t.Error("the cancelled request was answered")
	}
	if err := <-f.ended; err != context.Canceled {
		t.Errorf("the call ended with %v", err)
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	token, session, _ := strings.Cut(string(b), " ")
	r.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		r.Header.Set(HeaderSession, session)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func connectMCP(t *testing.T, url string, credentials bearer) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "0"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: credentials}},
		&sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMCP(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	for credentials, want := range map[bearer]string{
		"op": "operator", "op main": "agent:main:home", "op agent:x:main": "agent:x:home", "ops": "agent:ops:home", "ops main": "agent:ops:home",
	} {
		t.Run(string(credentials), func(t *testing.T) {
			s := connectMCP(t, url, credentials)
			defer s.Close()
			r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo"})
			if err != nil || r.StructuredContent.(map[string]any)["who"] != want {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	headers := []string{"Authorization: Bearer ops", "Content-Type: application/json", "Accept: application/json, text/event-stream"}
	r := request{"POST", "/mcp", append(headers, HeaderSession+": agent:main:home"), strings.NewReader(`{}`)}.send(t, url)
	if r.status != 403 {
		t.Errorf("as another session: status %d", r.status)
	}
	isFailure(t, r, "forbidden", "this token is for session agent:ops:home only")
	r = request{"POST", "/mcp", headers, strings.NewReader(strings.Repeat(" ", 3<<20))}.send(t, url)
	if r.status != 413 {
		t.Errorf("a body that is too large: status %d", r.status)
	}
	isFailure(t, r, "payload_too_large", "longer than")
	owner := connectMCP(t, url, "op")
	defer owner.Close()
	before := f.count()
	r = request{"POST", "/mcp", append(headers, "Mcp-Session-Id: "+owner.ID(), "Mcp-Protocol-Version: 2025-11-25"),
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)}.send(t, url)
	if r.status != 403 || f.count() != before {
		t.Errorf("another's MCP session: status %d, %d calls", r.status, f.count()-before)
	}
}

// Shutdown waits for active calls and ends the open streams of MCP clients.
func TestServeShutdown(t *testing.T) {
	t.Parallel()
	f := newFake()
	a := newAPI(t, f)
	var log bytes.Buffer
	a.logger = slog.New(slog.NewTextHandler(&log, nil))
	address, stop, closed := listen(t, a)
	s := connectMCP(t, "http://"+address, "op") // holds a stream open
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo"}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+"/tools/invoke", strings.NewReader(`{"tool":"echo","args":{"do":"wait"}}`))
		if err != nil {
			t.Error(err)
		}
		r.Header.Set("Authorization", "Bearer op")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-f.started
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	<-closed
	close(f.gate)
	if status := <-answered; status != 200 {
		t.Errorf("the active call: status %d", status)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Errorf("shutdown was not clean: %s", &log)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the server still listens")
	}
}

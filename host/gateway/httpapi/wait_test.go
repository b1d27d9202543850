package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const flowBody = `{"tool":"act","args":{"do":"flow"}}`

// post sends a request in the background until ctx ends.
func post(t *testing.T, ctx context.Context, url, path, key, body string) <-chan response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer op")
	r.Header.Set("Idempotency-Key", key)
	answer := make(chan response, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			answer <- response{body: err.Error()}
			return
		}
		defer resp.Body.Close()
		answer <- response{status: resp.StatusCode, header: resp.Header}
	}()
	return answer
}

// maxOneCall limits an API to one concurrent request.
func maxOneCall(o *Options) { o.MaxCalls = 1 }

// A waiting call releases its slot for the next one; a working call holds it.
func TestWaitingCallHoldsNoSlot(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f, maxOneCall))
	waits := []<-chan response{
		post(t, t.Context(), url, "/tools/invoke", "a", flowBody),
		nil, nil,
	}
	<-f.started
	waits[1] = post(t, t.Context(), url, "/tools/invoke", "b", flowBody)
	<-f.started
	waits[2] = post(t, t.Context(), url, "/v1/agent/wait", "", `{"runId":"queued"}`)
	<-f.started
	if r := <-post(t, t.Context(), url, "/tools/invoke", "c", `{"tool":"echo"}`); r.status != 200 {
		t.Errorf("a call while others wait: %+v", r)
	}
	close(f.gate)
	for i, w := range waits {
		if r := <-w; r.status != 200 {
			t.Errorf("wait %d: %+v", i, r)
		}
	}
	if r := <-post(t, t.Context(), url, "/tools/invoke", "d", `{"tool":"echo"}`); r.status != 200 {
		t.Errorf("a call after the waits: %+v", r)
	}
}

// A lost connection ends only the wait: a call with the same Idempotency-Key joins the
// flow, and receives its answer.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	ctx, cancel := context.WithCancel(t.Context())
	first := post(t, ctx, url, "/tools/invoke", "key-1", flowBody)
	<-f.started
	cancel()
	if r := <-first; r.status != 0 {
		t.Errorf("the cancelled request was answered: %+v", r)
	}
	if err := <-f.ended; err != context.Canceled {
		t.Errorf("the wait ended with %v", err)
	}
	again := post(t, t.Context(), url, "/tools/invoke", "key-1", flowBody)
	<-f.started
	close(f.gate)
	if r := <-again; r.status != 200 {
		t.Errorf("the repeated call: %+v", r)
	}
	if f.flowsStarted != 1 {
		t.Errorf("%d flows were started", f.flowsStarted)
	}
}

// Shutdown answers waiting requests immediately with 503, and lets the others finish.
func TestShutdownCancelsWaits(t *testing.T) {
	t.Parallel()
	f := newFake()
	a := newAPI(t, f)
	address, stop, _ := listen(t, a)
	url := "http://" + address
	waits := []<-chan response{post(t, t.Context(), url, "/tools/invoke", "a", flowBody)}
	<-f.started
	waits = append(waits, post(t, t.Context(), url, "/v1/agent/wait", "", `{"runId":"queued"}`))
	<-f.started
	works := post(t, t.Context(), url, "/tools/invoke", "b", `{"tool":"echo","args":{"do":"wait"}}`)
	<-f.started
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for _, w := range waits {
		if r := <-w; r.status != 503 || r.header.Get("Retry-After") == "" {
			t.Errorf("a waiting request: %+v", r)
		}
	}
	close(f.gate)
	if r := <-works; r.status != 200 {
		t.Errorf("a working request: %+v", r)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// deadlineRecorder records the deadlines of a connection.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlineRecorder) SetReadDeadline(t time.Time) error { d.read = append(d.read, t); return nil }
func (d *deadlineRecorder) SetWriteDeadline(t time.Time) error {
	d.write = append(d.write, t)
	return nil
}

// A body has a read deadline, but its answer has none: it may take an hour.
func TestAnswersHaveNoDeadline(t *testing.T) {
	t.Parallel()
	f := newFake()
	close(f.gate)
	a := newAPI(t, f)
	for path, body := range map[string]string{
		"/tools/invoke": flowBody, "/v1/agent/wait": `{"runId":"queued"}`, "/mcp": `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	} {
		t.Run(path, func(t *testing.T) {
			w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer op")
			a.ServeHTTP(w, r)
			if n := len(w.read); n < 2 || w.read[0].IsZero() || !w.read[n-1].IsZero() || len(w.write) > 0 {
				t.Errorf("read deadlines %v, write deadlines %v", w.read, w.write)
			}
		})
	}
}

// connListener sends the accepted connections to a channel.
type connListener struct {
	net.Listener
	conns chan *net.TCPConn
}

func (a connListener) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	if err == nil {
		a.conns <- c.(*net.TCPConn)
	}
	return c, err
}

func TestKeepalive(t *testing.T) {
	t.Parallel()
	a := newAPI(t, newFake())
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := connListener{inner, make(chan *net.TCPConn, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, l) }()
	if r := (request{"GET", "/healthz", nil, nil}).send(t, "http://"+inner.Addr().String()); r.status != 200 {
		t.Errorf("status %d", r.status)
	}
	sys, err := (<-l.conns).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (v int) {
		t.Helper()
		var failed error
		err := sys.Control(func(fd uintptr) { v, failed = unix.GetsockoptInt(int(fd), level, name) })
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		return v
	}
	if option(unix.SOL_SOCKET, unix.SO_KEEPALIVE) == 0 || option(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL) != 10 || option(unix.IPPROTO_TCP, unix.TCP_KEEPCNT) != 6 {
		t.Error("wrong keepalive settings")
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

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

const exchangeBody = `{"tool":"act","args":{"do":"exchange"}}`

// post sends in the background; it gives up when ctx ends.
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

// oneCall lets one request be under way at once.
func oneCall(o *Options) { o.MaxCalls = 1 }

// A call that waits for others leaves its place to the next one; one that works
// keeps it.
func TestWaitingTakesNoSlot(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f, oneCall))
	waits := []<-chan response{
		post(t, t.Context(), url, "/tools/invoke", "a", exchangeBody),
		nil, nil,
	}
	<-f.started
	waits[1] = post(t, t.Context(), url, "/tools/invoke", "b", exchangeBody)
	<-f.started
	waits[2] = post(t, t.Context(), url, "/v1/agent/wait", "", `{"runId":"queued"}`)
	<-f.started
	if r := <-post(t, t.Context(), url, "/tools/invoke", "c", `{"tool":"echo"}`); r.status != 200 {
		t.Errorf("a call beside waiting ones: %+v", r)
	}
	close(f.gate)
	for i, w := range waits {
		if r := <-w; r.status != 200 {
			t.Errorf("wait %d: %+v", i, r)
		}
	}
	if r := <-post(t, t.Context(), url, "/tools/invoke", "d", `{"tool":"echo"}`); r.status != 200 {
		t.Errorf("a call after them: %+v", r)
	}
}

// A connection that is lost ends the waiting alone: the call with the same
// Idempotency-Key joins what was begun, and gets its answer.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	ctx, cancel := context.WithCancel(t.Context())
	first := post(t, ctx, url, "/tools/invoke", "key-1", exchangeBody)
	<-f.started
	cancel()
	if r := <-first; r.status != 0 {
		t.Errorf("an answer to nobody: %+v", r)
	}
	if err := <-f.ended; err != context.Canceled {
		t.Errorf("the wait ended with %v", err)
	}
	again := post(t, t.Context(), url, "/tools/invoke", "key-1", exchangeBody)
	<-f.started
	close(f.gate)
	if r := <-again; r.status != 200 {
		t.Errorf("answered %+v", r)
	}
	if f.begun != 1 {
		t.Errorf("%d exchanges were begun", f.begun)
	}
}

// The end of the gateway sends those away at once who wait, and lets the others
// end.
func TestServeEndsWaits(t *testing.T) {
	t.Parallel()
	f := newFake()
	a := newAPI(t, f)
	address, stop, _ := listen(t, a)
	url := "http://" + address
	waits := []<-chan response{post(t, t.Context(), url, "/tools/invoke", "a", exchangeBody)}
	<-f.started
	waits = append(waits, post(t, t.Context(), url, "/v1/agent/wait", "", `{"runId":"queued"}`))
	<-f.started
	works := post(t, t.Context(), url, "/tools/invoke", "b", `{"tool":"echo","args":{"do":"wait"}}`)
	<-f.started
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for _, w := range waits {
		if r := <-w; r.status != 503 || r.header.Get("Retry-After") == "" {
			t.Errorf("one that waits: %+v", r)
		}
	}
	close(f.gate)
	if r := <-works; r.status != 200 {
		t.Errorf("one that works: %+v", r)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// deadlines notes the deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = append(d.read, t); return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.write = append(d.write, t)
	return nil
}

// A body has a deadline, and its answer none: it may come after an hour.
func TestNoDeadlineForAnswers(t *testing.T) {
	t.Parallel()
	f := newFake()
	close(f.gate)
	a := newAPI(t, f)
	for path, body := range map[string]string{
		"/tools/invoke": exchangeBody, "/v1/agent/wait": `{"runId":"queued"}`, "/mcp": `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	} {
		t.Run(path, func(t *testing.T) {
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer op")
			a.ServeHTTP(w, r)
			if n := len(w.read); n < 2 || w.read[0].IsZero() || !w.read[n-1].IsZero() || len(w.write) > 0 {
				t.Errorf("deadlines to read %v, to write %v", w.read, w.write)
			}
		})
	}
}

// givesAway gives the connections away that it accepts.
type givesAway struct {
	net.Listener
	conns chan *net.TCPConn
}

func (a givesAway) Accept() (net.Conn, error) {
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
	l := givesAway{inner, make(chan *net.TCPConn, 1)}
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
		t.Error("keepalive is not as it should be")
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/internal/bench/gateway"
	"github.com/parley-wasm/parley/host/internal/storegen"
)

// load are clients that call until they are stopped, or one fails.
type load struct {
	ctx     context.Context // ends with the first failure
	fail    context.CancelCauseFunc
	gateway *gateway.Gateway
	line    *timeline
	stopped chan struct{}
	clients sync.WaitGroup

	mu   sync.Mutex
	done result
}

// result is what the clients have seen.
type result struct {
	calls, named, sends, across int
	err                         error
}

func startLoad(ctx context.Context, g *gateway.Gateway, line *timeline, clients int) *load {
	l := &load{gateway: g, line: line, stopped: make(chan struct{})}
	l.ctx, l.fail = context.WithCancelCause(ctx)
	for n := range clients {
		l.clients.Go(func() { l.client(n) })
	}
	return l
}

// stop lets the calls under way end.
func (l *load) stop() result {
	close(l.stopped)
	l.clients.Wait()
	l.done.err = context.Cause(l.ctx)
	return l.done
}

// client makes one call after the other: three clients of four read, the fourth sends.
func (l *load) client(id int) {
	calls := []func(id, n int) error{l.missing, l.list, l.history}
	if id%4 == 3 {
		calls = []func(id, n int) error{l.send}
	}
	for n := 0; ; n++ {
		select {
		case <-l.stopped:
			return
		case <-l.ctx.Done():
			return
		default:
		}
		if err := calls[n%len(calls)](id, n); err != nil {
			l.fail(fmt.Errorf("client %d, call %d: %w", id, n, err))
			return
		}
	}
}

// call makes a call and returns the tool's result.
func (l *load) call(tool, args string) (gjson.Result, error) {
	body, err := l.gateway.Call(l.ctx, tool, args)
	l.count(func(r *result) { r.calls++ })
	return gjson.GetBytes(body, "result.details"), err
}

func (l *load) count(add func(*result)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	add(&l.done)
}

var named = regexp.MustCompile(`answers here is build (\d{4})$`)

// missing asks for a session that does not exist, and finds out who answers.
func (l *load) missing(int, int) error {
	from := time.Now()
	r, err := l.call("sessions_history", `{"sessionKey": "agent:main:none"}`)
	until := time.Now()
	if err != nil {
		return err
	}
	build, text := builtIn, r.Get("error").Str
	if m := named.FindStringSubmatch(text); m != nil {
		if build, err = strconv.Atoi(m[1]); err != nil {
			return err
		}
	} else if len(text) < len(said) || text[len(text)-len(said):] != said {
		return fmt.Errorf("an answer of no build: %s", r.Raw)
	}
	if !l.line.active(build, from, until) {
		return fmt.Errorf("build %d answered, which was not active", build)
	}
	l.count(func(r *result) { r.named++ })
	return nil
}

func (l *load) list(int, int) error {
	r, err := l.call("sessions_list", `{"limit": 50, "messageLimit": 1}`)
	if err == nil && len(r.Get("sessions").Array()) != 50 {
		err = fmt.Errorf("a list without 50 sessions: %.200s", r.Raw)
	}
	return err
}

func (l *load) history(id, n int) error {
	r, err := l.call("sessions_history", fmt.Sprintf(`{"sessionKey": %q, "limit": 50, "offset": %d}`, storegen.LongKey, (id*7919+n*131)%(messages/2)))
	if err == nil && len(r.Get("messages").Array()) == 0 {
		err = fmt.Errorf("a history without messages: %.200s", r.Raw)
	}
	return err
}

// send sends a message and waits for the reply to it.
func (l *load) send(id, n int) error {
	text := fmt.Sprintf("message %d of client %d", n, id)
	from := time.Now()
	r, err := l.call("sessions_send", fmt.Sprintf(`{"sessionKey": %q, "message": %q, "timeoutSeconds": 120}`, target((n*7+id)%targets), text))
	if err != nil {
		return err
	}
	if r.Get("status").Str != "ok" || r.Get("reply").Str != "heard: "+text {
		return fmt.Errorf("a send of %q was answered: %.400s", text, r.Raw)
	}
	across := l.line.swapped(from, time.Now())
	l.count(func(r *result) {
		if r.sends++; across {
			r.across++
		}
	})
	return nil
}

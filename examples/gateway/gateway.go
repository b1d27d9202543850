// Package gateway embeds Parley in a small HTTP service with its own store and agents.
// See example_test.go for its use.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// Service returns a handler for POST /rooms/{key}, which sends the body to a session and
// returns the answer, and for POST /tools/{name}, which calls a tool as the operator. It
// does not authenticate requests.
func Service(h *host.Host) http.Handler {
	operator := abi.Caller{Operator: true}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /rooms/{key}", respond(func(r *http.Request, body []byte) (string, error) {
		sent, err := h.Send(r.Context(), &host.Message{SessionKey: r.PathValue("key"), Text: string(body)})
		if err != nil {
			return "", err
		}
		run, err := h.WaitRun(r.Context(), operator, sent.RunID, time.Minute)
		if err != nil {
			return "", err
		}
		if run.Status != abi.RunDone {
			return "", fmt.Errorf("run %s is %s: %s", run.ID, run.Status, run.Error)
		}
		return run.Reply, nil
	}))
	mux.HandleFunc("POST /tools/{name}", respond(func(r *http.Request, body []byte) (string, error) {
		answer, err := h.Call(r.Context(), &host.Call{Tool: r.PathValue("name"), Args: body, Caller: operator})
		if err != nil {
			return "", err
		}
		return string(answer.Result), nil
	}))
	return mux
}

func respond(do func(*http.Request, []byte) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, abi.MaxText))
		var text string
		if err == nil {
			text, err = do(r, body)
		}
		switch {
		case errors.Is(err, abi.InvalidArgs), errors.Is(err, abi.NotFound):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			_, _ = io.WriteString(w, text) // fails if the client has disconnected
		}
	}
}

// Rooms is a store that calls Watch for each message after its commit.
type Rooms struct {
	store.Durable
	Watch func(room, text string)
}

// Update implements store.Durable.
func (r *Rooms) Update(ctx context.Context, fn func(store.Tx) error) error {
	l := &listener{}
	err := r.Durable.Update(ctx, func(tx store.Tx) error {
		l = &listener{Tx: tx} // fn may be called again
		return fn(l)
	})
	for i := 0; err == nil && i < len(l.rooms); i++ {
		r.Watch(l.rooms[i], l.texts[i])
	}
	return err
}

type listener struct {
	store.Tx
	rooms, texts []string
}

func (l *listener) Append(key string, m *store.Message) error {
	l.rooms, l.texts = append(l.rooms, key), append(l.texts, gjson.GetBytes(m.JSON, "content.0.text").Str)
	return l.Tx.Append(key, m)
}
